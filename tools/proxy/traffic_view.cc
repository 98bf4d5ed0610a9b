#include "tools/proxy/traffic_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "tools/holdfast/escape.h"
#include "tools/proxy/latency.h"

namespace holdfast::tools {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestName = 40;

// The one of `list` whose `member` is that of `one`; an empty object: there is none.
json same_in(const json& list, const json& one, const char* member) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const json& other) { return other.at(member) == one.at(member); });
  return found == list.end() ? json::object() : *found;
}

std::uint64_t grown(const json& before, const json& now, const char* member) {
  const std::uint64_t was = before.value(member, std::uint64_t{0});
  const std::uint64_t is = now.at(member);
  return is > was ? is - was : 0;
}

Latency latency_of(const json& client) {
  Latency latency;
  for (const json& bucket : client.value("latency", json::array())) latency.add(bucket.at(0), bucket.at(1));
  return latency;
}

json client_between(const json& before, const json& now, double seconds) {
  const json bytes_before = before.value("bytes", json::object());
  const Latency latency = latency_of(now).since(latency_of(before));
  const auto a_second = [&](std::uint64_t count) { return static_cast<double>(count) / seconds; };
  const bool any = latency.count() > 0;
  return {{"name", now.at("name")},
          {"connections", now.at("connections")},
          {"commands_per_second", a_second(grown(before, now, "commands"))},
          {"upstream_bytes_per_second", a_second(grown(bytes_before, now.at("bytes"), "upstream"))},
          {"downstream_bytes_per_second", a_second(grown(bytes_before, now.at("bytes"), "downstream"))},
          {"in_flight", now.at("in_flight")},
          {"destroyed", grown(before, now, "destroyed")},
          {"p50_us", any ? json(latency.quantile_us(0.5)) : json()},
          {"p99_us", any ? json(latency.quantile_us(0.99)) : json()}};
}

bool did_nothing(const json& client) {
  return client.at("connections") == 0 && client.at("commands_per_second") == 0.0 &&
         client.at("upstream_bytes_per_second") == 0.0 && client.at("downstream_bytes_per_second") == 0.0 &&
         client.at("destroyed") == 0;
}

std::string number(double value) {
  if (value > 0 && value < 10) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

std::string bytes(double value) {
  if (value >= 1e6) return fmt::format("{:.1f} MB", value / 1e6);
  return value >= 1e3 ? fmt::format("{:.1f} kB", value / 1e3) : fmt::format("{:.0f} B", value);
}

std::string micros(const json& value) {
  if (value.is_null()) return "-";
  const auto us = value.get<std::uint64_t>();
  if (us < 1000) return fmt::format("{} us", us);
  return us < 1'000'000 ? fmt::format("{:.1f} ms", static_cast<double>(us) / 1e3)
                        : fmt::format("{:.2f} s", static_cast<double>(us) / 1e6);
}

std::string seconds_of(std::int64_t ms) { return fmt::format("{:.1f} s", static_cast<double>(ms) / 1e3); }

}  // namespace

json traffic_between(const json& before, const json& now) {
  const std::int64_t ns = now.at("time_ns").get<std::int64_t>() - before.at("time_ns").get<std::int64_t>();
  const double seconds = std::max(static_cast<double>(ns) / 1e9, 1e-9);
  json result = {{"seconds", seconds}, {"proxies", json::array()}};
  for (const json& proxy : now.at("proxies")) {
    const json old = same_in(before.at("proxies"), proxy, "name");
    const json none = json::array();
    json one = {{"clients", json::array()}, {"toxics", json::array()}};
    for (const char* member : {"name", "listen", "upstream", "enabled", "redis"})
      one[member] = proxy.at(member);
    for (const json& client : proxy.at("clients")) {
      const json its = client_between(same_in(old.value("clients", none), client, "name"), client, seconds);
      if (!did_nothing(its)) one["clients"].push_back(its);
    }
    for (json toxic : proxy.at("toxics")) {
      const json its = same_in(old.value("toxics", none), toxic, "name");
      toxic["hits_per_second"] = static_cast<double>(grown(its, toxic, "hits")) / seconds;
      one["toxics"].push_back(std::move(toxic));
    }
    result["proxies"].push_back(std::move(one));
  }
  if (now.contains("keys")) {
    json keys = json::array();
    for (const json& key : now.at("keys")) {
      const json its = same_in(before.value("keys", json::array()), key, "key");
      const double rate = static_cast<double>(grown(its, key, "commands")) / seconds;
      if (rate > 0) keys.push_back({{"key", key.at("key")}, {"commands_per_second", rate}});
    }
    std::stable_sort(keys.begin(), keys.end(), [](const json& a, const json& b) {
      return a.at("commands_per_second") > b.at("commands_per_second");
    });
    result["keys"] = std::move(keys);
  }
  if (now.contains("locks")) result["locks"] = now.at("locks");
  return result;
}

std::string traffic_text(const json& between, const Terminal& terminal) {
  const auto shown = [&](const json& text) {
    return for_terminal(text.get<std::string>(), terminal, kLongestName);
  };
  std::string out;
  if (between.at("proxies").empty()) out += "no proxies\n";
  for (const json& proxy : between.at("proxies")) {
    out +=
        fmt::format("proxy {}  {} -> {}{}\n", shown(proxy.at("name")), shown(proxy.at("listen")),
                    shown(proxy.at("upstream")),
                    !proxy.at("enabled").get<bool>() ? "  disabled"
                    : proxy.at("redis").get<bool>()  ? ""
                                                    : "  (bytes only: it was not made with \"redis\": true)");
    const json& clients = proxy.at("clients");
    if (clients.empty()) out += "  no clients\n";
    if (!clients.empty()) {
      out += fmt::format("  {:<24} {:>5} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9}\n", "client", "conns",
                         "commands/s", "up/s", "down/s", "p50", "p99", "in flight", "destroyed");
    }
    for (const json& client : clients) {
      out += fmt::format(
          "  {:<24} {:>5} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9}\n", shown(client.at("name")),
          client.at("connections").get<std::uint64_t>(), number(client.at("commands_per_second")),
          bytes(client.at("upstream_bytes_per_second")), bytes(client.at("downstream_bytes_per_second")),
          micros(client.at("p50_us")), micros(client.at("p99_us")),
          client.at("in_flight").get<std::uint64_t>(), client.at("destroyed").get<std::uint64_t>());
    }
    for (const json& toxic : proxy.at("toxics")) {
      out += fmt::format("  toxic {} ({}, {}): {} hits, {} a second\n", shown(toxic.at("name")),
                         shown(toxic.at("type")), shown(toxic.at("stream")),
                         toxic.at("hits").get<std::uint64_t>(), number(toxic.at("hits_per_second")));
    }
  }
  for (const json& lock : between.value("locks", json::array())) {
    out += fmt::format("lock {}  held by {} for {}", shown(lock.at("key")), shown(lock.at("client")),
                       seconds_of(lock.at("held_ms")));
    if (lock.contains("lease_left_ms"))
      out += fmt::format(", {} of its lease left", seconds_of(lock.at("lease_left_ms")));
    out += lock.value("shared", false) ? ", shared\n" : "\n";
  }
  for (const json& key : between.value("keys", json::array())) {
    out +=
        fmt::format("key {}  {} commands/s\n", shown(key.at("key")), number(key.at("commands_per_second")));
  }
  return out;
}

}  // namespace holdfast::tools
