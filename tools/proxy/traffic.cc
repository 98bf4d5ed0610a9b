#include "tools/proxy/traffic.h"

#include <algorithm>
#include <iterator>

#include "sim/proxy/transaction.h"
#include "sim/redis/command.h"
#include "sim/redis/command_keys.h"

namespace holdfast::tools {
namespace {

using nlohmann::json;

constexpr std::size_t kMostShown = 20;    // keys
constexpr std::size_t kLongestKey = 200;  // bytes

void count_keys(const std::vector<std::string_view>& words, HotKeys& keys) {
  const sim::embedded::CommandSpec* container = nullptr;
  const auto* spec = sim::embedded::CommandTable::instance().find(words, container);
  if (spec == nullptr || !spec->arity_ok(words.size())) return;
  std::vector<sim::embedded::KeyUse> uses;
  if (!sim::embedded::keys_of(*spec, words, uses)) return;
  for (const auto& use : uses) keys.count(words[use.at]);
}

}  // namespace

void HotKeys::count(std::string_view key) {
  key = key.substr(0, kLongestKey);
  if (const auto found = counts_.find(key); found != counts_.end()) {
    ++found->second;
  } else if (counts_.size() < kMost) {
    counts_.emplace(key, 1);
  } else {
    for (auto at = counts_.begin(); at != counts_.end();)
      at = --at->second == 0 ? counts_.erase(at) : std::next(at);
  }
}

std::vector<std::pair<std::string, std::uint64_t>> HotKeys::top(std::size_t most) const {
  std::vector<std::pair<std::string, std::uint64_t>> all(counts_.begin(), counts_.end());
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.second > b.second; });
  all.resize(std::min(all.size(), most));
  return all;
}

std::shared_ptr<Traffic::Counts>& Traffic::counts_of(const std::string& proxy, const std::string& client) {
  auto& clients = all_[proxy];
  const bool room = clients.size() < kMostClients || clients.contains(client);
  std::shared_ptr<Counts>& counts = clients[room ? client : "others"];
  if (counts == nullptr) counts = std::make_shared<Counts>();
  return counts;
}

void Traffic::moved(const sim::Link& link, const std::string& client, sim::Direction direction,
                    std::size_t bytes) {
  counts_of(link.to, client)->bytes[direction == sim::Direction::request ? 0 : 1] += bytes;
}

void Traffic::asked(const sim::Message& request, const std::string& client, std::int64_t now_ns) {
  const std::shared_ptr<Counts>& counts = counts_of(request.link.to, client);
  ++counts->commands;
  if (request.exchange != 0) {
    ++counts->in_flight;
    open_[request.exchange] = {now_ns, request.link.connection, counts};
  }
  if (now_ns >= keys_until_ns_) return;
  if (request.command != "EXEC") return count_keys(request.arguments, keys_);
  sim::each_queued(request.bytes, [this](const auto& words, std::size_t) { count_keys(words, keys_); });
}

void Traffic::settled(std::uint64_t exchange, sim::Fate fate, std::int64_t now_ns) {
  const auto found = open_.extract(exchange);
  if (found.empty()) return;
  Counts& counts = *found.mapped().counts;
  --counts.in_flight;
  if (fate == sim::Fate::delivered) {
    counts.latency.record((now_ns - found.mapped().since_ns) / 1000);
  } else {
    ++counts.destroyed;
  }
}

void Traffic::keep_only(const std::set<std::uint64_t>& connections) {
  std::erase_if(open_, [&](const auto& one) {
    if (connections.contains(one.second.connection)) return false;
    --one.second.counts->in_flight;
    ++one.second.counts->destroyed;
    return true;
  });
}

void Traffic::forget_proxy(const std::string& proxy) { all_.erase(proxy); }

json Traffic::clients_of(const std::string& proxy,
                         const std::map<std::string, std::size_t>& connections) const {
  json list = json::array();
  const auto clients = all_.find(proxy);
  if (clients == all_.end()) return list;
  for (const auto& [name, counts] : clients->second) {
    const auto open = connections.find(name);
    json buckets = json::array();
    for (const auto& [bucket, count] : counts->latency.counts()) buckets.push_back({bucket, count});
    list.push_back({{"name", name},
                    {"connections", open == connections.end() ? 0 : open->second},
                    {"commands", counts->commands},
                    {"in_flight", counts->in_flight},
                    {"destroyed", counts->destroyed},
                    {"bytes", {{"upstream", counts->bytes[0]}, {"downstream", counts->bytes[1]}}},
                    {"latency", std::move(buckets)}});
  }
  return list;
}

json Traffic::keys() const {
  json list = json::array();
  for (const auto& [key, count] : keys_.top(kMostShown)) list.push_back({{"key", key}, {"commands", count}});
  return list;
}

}  // namespace holdfast::tools
