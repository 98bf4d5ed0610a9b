#include "tools/proxy/toxics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/runtime/runtime.h"
#include "lib/runtime/time.h"
#include "sim/proxy/resp_parse.h"
#include "sim/proxy/rules.h"
#include "sim/redis/glob.h"
#include "sim/world/rng.h"
#include "sim/world/world.h"
#include "tools/proxy/api_error.h"

namespace holdfast::tools {
namespace {

using nlohmann::json;
using sim::Action;
using sim::Direction;
using std::chrono::microseconds;
using std::chrono::milliseconds;

// The attributes of each kind and what they are when they are not given.
const std::map<std::string, json>& kinds() {
  static const std::map<std::string, json> all = {
      {"latency", {{"latency", 0}, {"jitter", 0}}},
      {"bandwidth", {{"rate", 0}}},
      {"slow_close", {{"delay", 0}}},
      {"timeout", {{"timeout", 0}}},
      {"reset_peer", {{"timeout", 0}}},
      {"slicer", {{"average_size", 0}, {"size_variation", 0}, {"delay", 0}}},
      {"limit_data", {{"bytes", 0}}},
      {"redis",
       {{"command", ""},
        {"key", ""},
        {"client", ""},
        {"nth", 1},
        {"count", 0},
        {"percent", 100},
        {"action", "delay"},
        {"delay", 0},
        {"error", ""}}},
  };
  return all;
}

constexpr std::int64_t kMost = 1'000'000'000;  // milliseconds (eleven days), bytes, messages
const std::set<std::string> kActions = {"delay", "drop", "reset", "half", "hold", "error"};

void read_attributes(Toxic& toxic, const json& body) {
  const json& known = kinds().at(toxic.type);
  const auto given = body.find("attributes");
  if (given == body.end() || given->is_null()) return;
  if (!given->is_object()) throw bad_body("`attributes` is an object");
  for (const auto& [name, value] : given->items()) {
    if (!known.contains(name)) {
      if (toxic.type == "redis") throw bad_body("a redis toxic has no attribute `" + name + "`");
      continue;  // Toxiproxy passes over what it does not know
    }
    if (known[name].is_string()) {
      if (!value.is_string()) throw bad_body("`" + name + "` is a text");
    } else {
      if (!value.is_number_integer()) throw bad_body("`" + name + "` is a whole number");
      const bool fits = value >= 0 && value <= kMost;
      if (!fits) throw bad_body("`" + name + "` is a number from 0 to " + std::to_string(kMost));
    }
    toxic.attributes[name] = value;
  }
  if (toxic.type == "slicer" && toxic.attributes["size_variation"] > toxic.attributes["average_size"])
    throw bad_body("`size_variation` is at most `average_size`");
  if (toxic.type != "redis") return;
  const std::string action = toxic.attributes["action"];
  const std::string error = toxic.attributes["error"];
  if (kActions.count(action) == 0) throw bad_body("`action` is one of delay, drop, reset, half, hold, error");
  if ((action == "error") == error.empty())
    throw bad_body("`error` goes with the action `error`, and only with it");
  if (error.find_first_of("\r\n") != std::string::npos) throw bad_body("`error` is one line");
  if (action == "error" && !toxic.upstream) throw bad_body("the action `error` is for the stream `upstream`");
  if (toxic.attributes["nth"] < 1) throw bad_body("`nth` counts from 1");
  if (toxic.attributes["percent"] > 100) throw bad_body("`percent` is at most 100");
}

void read_toxicity(Toxic& toxic, const json& body) {
  const auto given = body.find("toxicity");
  if (given == body.end()) return;
  if (!given->is_number()) throw bad_body("`toxicity` is a number from 0 to 1");
  toxic.toxicity = *given;
  if (!(toxic.toxicity >= 0 && toxic.toxicity <= 1)) throw bad_body("`toxicity` is a number from 0 to 1");
}

std::string text_of(const json& body, const char* name, const std::string& otherwise) {
  const auto given = body.find(name);
  if (given == body.end() || given->is_null()) return otherwise;
  if (!given->is_string()) throw bad_body(std::string("`") + name + "` is a text");
  return *given;
}

// What the kinds share: on which connections of which proxy, and which way.
class Base : public ToxicRule {
 public:
  Base(const Toxic& toxic, std::string proxy_name, const ToxicSurroundings& around)
      : toxic_(toxic),
        to_(std::move(proxy_name)),
        around_(around),
        way_(toxic.upstream ? Direction::request : Direction::reply),
        stream_("toxic/" + to_ + "/" + toxic.name),
        rng_(sim::Rng::derive(around.seed, stream_)) {}

  bool applies(const sim::Link& link) const override { return link.to == to_ && struck(link.connection); }
  bool needs_messages() const override { return false; }

 protected:
  std::int64_t number(const char* name) const { return toxic_.attributes.at(name).get<std::int64_t>(); }
  Duration ms(const char* name) const { return milliseconds(number(name)); }
  MonotonicTime now() const { return around_.process.runtime().now(); }

  // `act` on the connection, `after` from now. The task may outlive this rule.
  void later(std::uint64_t connection, Duration after, bool reset) {
    sim::Proxy& proxy = around_.proxy;
    sim::Process& process = around_.process;
    process.start("toxic", [&proxy, &process, connection, after, reset] {
      process.runtime().sleep_for(after);
      const auto it = [connection](const sim::Link& link) { return link.connection == connection; };
      if (reset) {
        proxy.reset_links(it);
      } else {
        proxy.close_links(it);
      }
    });
  }

  const Toxic toxic_;
  const std::string to_;
  const ToxicSurroundings around_;
  const Direction way_;

 private:
  // Drawn for each connection, from the seed and its number.
  bool struck(std::uint64_t connection) const {
    if (toxic_.toxicity >= 1) return true;
    sim::Rng draw = sim::Rng::derive(around_.seed, stream_ + "#" + std::to_string(connection));
    const auto part = static_cast<std::uint64_t>(std::llround(toxic_.toxicity * 1e6));
    return draw.chance(part, 1'000'000);
  }

  const std::string stream_;

 protected:
  sim::Rng rng_;
};

class Latency final : public Base {
 public:
  using Base::Base;
  Action on_bytes(const sim::Link&, Direction way, std::string_view bytes) override {
    if (way != way_ || bytes.empty()) return {};
    const auto jitter = static_cast<std::uint64_t>(number("jitter")) * 1000;
    const auto drawn = jitter == 0 ? 0 : static_cast<std::int64_t>(rng_.between(0, 2 * jitter));
    const Duration delay = ms("latency") + microseconds(drawn - static_cast<std::int64_t>(jitter));
    return {.delay = std::max(delay, Duration::zero())};
  }
};

// A rule of the proxy, on the connections and the way that are struck.
class Shared final : public Base {
 public:
  Shared(const Toxic& toxic, std::string proxy_name, const ToxicSurroundings& around)
      : Base(toxic, std::move(proxy_name), around) {
    const bool up = way_ == Direction::request;
    const auto way = [up](const sim::Link&) { return sim::Lanes{.request = up, .reply = !up}; };
    rule_ = toxic.type == "bandwidth"
                ? sim::make_bandwidth_rule(way, number("rate") * 1000, around.process.runtime())
                : sim::make_slow_close_rule(way, {.low = ms("delay"), .high = ms("delay")}, rng_);
  }
  Action on_bytes(const sim::Link& link, Direction way, std::string_view bytes) override {
    return rule_->on_bytes(link, way, bytes);
  }

 private:
  std::shared_ptr<sim::Rule> rule_;
};

class Slicer final : public Base {
 public:
  using Base::Base;
  Action on_bytes(const sim::Link& link, Direction way, std::string_view bytes) override {
    const std::int64_t average = number("average_size"), variation = number("size_variation");
    if (way != way_ || bytes.empty() || average == 0) return {};
    auto slices = std::make_shared<std::vector<sim::Slice>>();
    MonotonicTime& next = next_[link.connection];  // also after what was read before
    Duration after = std::max<Duration>(next - now(), Duration::zero());
    for (std::size_t left = bytes.size(); left > 0;) {
      const std::int64_t off =
          static_cast<std::int64_t>(rng_.between(0, static_cast<std::uint64_t>(2 * variation)));
      const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(1, average - variation + off));
      const std::size_t size = std::min(left, wanted);
      left -= size;
      slices->push_back({.bytes = size, .after = after});
      after += microseconds(number("delay"));
    }
    next = now() + after;
    return {.slices = std::move(slices)};
  }

 private:
  std::map<std::uint64_t, MonotonicTime> next_;  // by connection: when the next piece may pass
};

class LimitData final : public Base {
 public:
  using Base::Base;
  Action on_bytes(const sim::Link& link, Direction way, std::string_view bytes) override {
    if (way != way_ || bytes.empty()) return {};
    std::size_t& passed = passed_[link.connection];
    const auto limit = static_cast<std::size_t>(number("bytes"));
    const std::size_t part = std::min(bytes.size(), limit - std::min(limit, passed));
    passed += part;
    if (passed < limit) return {};
    return {.kind = Action::Kind::pass_part_then_close, .part = part};
  }

 private:
  std::map<std::uint64_t, std::size_t> passed_;  // by connection
};

// Nothing passes, and after `timeout` the connection is closed; 0: when the toxic is removed.
class Timeout final : public Base {
 public:
  Timeout(const Toxic& toxic, std::string proxy_name, const ToxicSurroundings& around)
      : Base(toxic, std::move(proxy_name), around) {
    for (const sim::Link& link : around.proxy.links()) {
      if (applies(link)) start(link.connection);
    }
  }
  bool refuses(const sim::Link& link) override { return start(link.connection), false; }
  Action on_bytes(const sim::Link&, Direction way, std::string_view) override {
    return {.kind = way == way_ ? Action::Kind::drop : Action::Kind::pass};
  }
  void removed() override {
    around_.proxy.close_links([this](const sim::Link& link) { return applies(link); });
  }

 private:
  void start(std::uint64_t connection) {
    if (number("timeout") > 0) later(connection, ms("timeout"), false);
  }
};

// What comes is not passed on; `timeout` after the first of it the connection is reset.
class ResetPeer final : public Base {
 public:
  using Base::Base;
  Action on_bytes(const sim::Link& link, Direction way, std::string_view) override {
    if (way != way_) return {};
    if (number("timeout") == 0) return {.kind = Action::Kind::reset};
    if (begun_.insert(link.connection).second) later(link.connection, ms("timeout"), true);
    return {.kind = Action::Kind::drop};
  }

 private:
  std::set<std::uint64_t> begun_;
};

class RedisToxic final : public Base {
 public:
  RedisToxic(const Toxic& toxic, std::string proxy_name, const ToxicSurroundings& around)
      : Base(toxic, std::move(proxy_name), around),
        command_(sim::upper_case(toxic.attributes.at("command").get<std::string>())),
        key_(toxic.attributes.at("key")),
        client_(toxic.attributes.at("client")) {
    const std::string action = toxic.attributes.at("action");
    if (action == "delay") action_.delay = ms("delay");
    if (action == "drop") action_.kind = Action::Kind::drop;
    if (action == "reset") action_.kind = Action::Kind::reset;
    if (action == "half") action_.kind = Action::Kind::pass_half_then_reset;
    if (action == "hold") action_.kind = Action::Kind::hold;
    if (action != "error") return;
    std::string request;  // its answer keeps its place among the others
    const std::string error = toxic.attributes.at("error");
    sim::append_request(request, {"EVAL", "return redis.error_reply(ARGV[1])", "0", error});
    action_.instead = std::make_shared<const std::string>(std::move(request));
  }
  bool needs_messages() const override { return true; }
  Action on_message(const sim::Message& message) override {
    if (message.direction != way_ || !matches(message)) return {};
    const std::int64_t count = number("count");
    if (++seen_ < number("nth") || (count > 0 && hits_ >= count)) return {};
    if (!rng_.chance(static_cast<std::uint64_t>(number("percent")), 100)) return {};
    ++hits_;
    return action_;
  }

 private:
  bool matches(const sim::Message& message) const {
    if (!command_.empty() && message.command != command_) return false;
    if (!client_.empty() && around_.names.of(message.link.connection) != client_) return false;
    if (key_.empty()) return true;
    const auto& arguments = message.arguments;
    return std::any_of(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end(),
                       [this](std::string_view one) { return sim::embedded::glob_match(key_, one); });
  }

  const std::string command_, key_, client_;
  Action action_;
  std::int64_t seen_ = 0, hits_ = 0;
};

}  // namespace

json Toxic::to_json() const {
  return {{"attributes", attributes},
          {"name", name},
          {"type", type},
          {"stream", upstream ? "upstream" : "downstream"},
          {"toxicity", toxicity}};
}

Toxic read_toxic(const json& body) {
  if (!body.is_object()) throw bad_body("a toxic is an object");
  Toxic toxic;
  toxic.type = text_of(body, "type", "");
  std::string stream = text_of(body, "stream", "downstream");
  std::transform(stream.begin(), stream.end(), stream.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (stream != "upstream" && stream != "downstream")
    throw ApiError(400, "stream was invalid, can be either upstream or downstream");
  toxic.upstream = stream == "upstream";
  toxic.name = text_of(body, "name", "");
  if (toxic.name.empty()) toxic.name = toxic.type + "_" + stream;
  if (kinds().count(toxic.type) == 0) throw ApiError(400, "invalid toxic type");
  toxic.attributes = kinds().at(toxic.type);
  read_toxicity(toxic, body);
  read_attributes(toxic, body);
  return toxic;
}

Toxic changed_toxic(const Toxic& toxic, const json& body) {
  if (!body.is_object()) throw bad_body("a toxic is an object");
  Toxic changed = toxic;
  read_toxicity(changed, body);
  read_attributes(changed, body);
  return changed;
}

void ClientNames::see(const sim::Message& message) {
  if (message.direction != Direction::request) return;
  const auto& words = message.arguments;
  if (message.command == "CLIENT" && words.size() == 3 && sim::upper_case(words[1]) == "SETNAME")
    names_[message.link.connection] = words[2];
  if (message.command != "HELLO") return;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (sim::upper_case(words[i]) == "SETNAME") names_[message.link.connection] = words[i + 1];
  }
}

std::string ClientNames::of(std::uint64_t connection) const {
  const auto name = names_.find(connection);
  return name == names_.end() ? "" : name->second;
}

void ClientNames::keep_only(const std::set<std::uint64_t>& connections) {
  std::erase_if(names_, [&](const auto& one) { return !connections.contains(one.first); });
}

namespace {

// Counts what a rule does.
class Counted final : public ToxicRule {
 public:
  explicit Counted(std::shared_ptr<ToxicRule> rule) : rule_(std::move(rule)) {}
  bool applies(const sim::Link& link) const override { return rule_->applies(link); }
  bool needs_messages() const override { return rule_->needs_messages(); }
  bool refuses(const sim::Link& link) override { return rule_->refuses(link); }
  bool loses(const sim::Link& link) const override { return rule_->loses(link); }
  Action on_message(const sim::Message& message) override { return count(rule_->on_message(message)); }
  Action on_bytes(const sim::Link& link, Direction way, std::string_view bytes) override {
    return count(rule_->on_bytes(link, way, bytes));
  }
  void removed() override { rule_->removed(); }
  std::uint64_t hits() const override { return hits_; }

 private:
  Action count(Action action) {
    const bool plain = action.kind == Action::Kind::pass && action.delay <= Duration::zero() &&
                       action.instead == nullptr && action.slices == nullptr;
    hits_ += plain ? 0 : 1;
    return action;
  }

  const std::shared_ptr<ToxicRule> rule_;
  std::uint64_t hits_ = 0;
};

std::shared_ptr<ToxicRule> rule_of(const Toxic& toxic, const std::string& proxy_name,
                                   const ToxicSurroundings& around) {
  if (toxic.type == "latency") return std::make_shared<Latency>(toxic, proxy_name, around);
  if (toxic.type == "bandwidth") return std::make_shared<Shared>(toxic, proxy_name, around);
  if (toxic.type == "slow_close") return std::make_shared<Shared>(toxic, proxy_name, around);
  if (toxic.type == "timeout") return std::make_shared<Timeout>(toxic, proxy_name, around);
  if (toxic.type == "reset_peer") return std::make_shared<ResetPeer>(toxic, proxy_name, around);
  if (toxic.type == "slicer") return std::make_shared<Slicer>(toxic, proxy_name, around);
  if (toxic.type == "limit_data") return std::make_shared<LimitData>(toxic, proxy_name, around);
  return std::make_shared<RedisToxic>(toxic, proxy_name, around);
}

}  // namespace

std::shared_ptr<ToxicRule> make_toxic_rule(const Toxic& toxic, const std::string& proxy_name,
                                           const ToxicSurroundings& around) {
  return std::make_shared<Counted>(rule_of(toxic, proxy_name, around));
}

}  // namespace holdfast::tools
