#include "sim/fault/support.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "sim/proxy/resp_parse.h"

namespace holdfast::sim {
namespace {

bool names(const std::vector<std::string>& parties, const std::string& name) {
  return std::any_of(parties.begin(), parties.end(),
                     [&name](const std::string& party) { return party == "*" || party == name; });
}

}  // namespace

std::string text_of(const FaultConfig& config, std::string_view key, std::string_view otherwise) {
  const std::string* value = config.get<std::string>(key);
  return value == nullptr ? std::string(otherwise) : *value;
}

std::int64_t count_of(const FaultConfig& config, std::string_view key, std::int64_t otherwise) {
  const std::int64_t* value = config.get<std::int64_t>(key);
  return value == nullptr ? otherwise : *value;
}

bool flag_of(const FaultConfig& config, std::string_view key) {
  const bool* value = config.get<bool>(key);
  return value != nullptr && *value;
}

std::vector<std::string> parties_of(const FaultConfig& config, std::string_view key) {
  if (const auto* list = config.get<std::vector<std::string>>(key)) return *list;
  return {text_of(config, key, "*")};
}

std::vector<FaultKey> party_keys() {
  return {
      {"between", FaultKey::Type::parties, false, "one side: clients, nodes, or \"*\" (all; the default)"},
      {"and", FaultKey::Type::parties, false, "the other side, likewise"},
      {"direction",
       FaultKey::Type::text,
       false,
       "what is hit: from `between` to `and` (forward), the way back (backward), or both (the default)",
       {"both", "forward", "backward"}},
  };
}

LaneFilter lanes_of(const FaultConfig& config) {
  const std::string direction = text_of(config, "direction", "both");
  const bool forward = direction != "backward";
  const bool backward = direction != "forward";
  return [between = parties_of(config, "between"), and_ = parties_of(config, "and"), forward,
          backward](const Link& link) {
    Lanes lanes;
    if (names(between, link.from) && names(and_, link.to)) {
      lanes.request = forward;
      lanes.reply = backward;
    }
    if (names(and_, link.from) && names(between, link.to)) {
      lanes.request = lanes.request || backward;
      lanes.reply = lanes.reply || forward;
    }
    return lanes;
  };
}

FaultKey p_key() {
  return {"p", FaultKey::Type::probability, false,
          "each one is hit with this probability, such as 0.02: drawn, from the seed"};
}

Chance chance_of(const FaultConfig& config) {
  if (const auto* p = config.get<std::int64_t>("p")) return {static_cast<std::uint64_t>(*p), 1'000'000};
  if (const auto* percent = config.get<std::int64_t>("probability"))
    return {static_cast<std::uint64_t>(*percent), 100};
  return {};
}

std::string one_probability(const FaultConfig& config) {
  const bool both =
      config.get<std::int64_t>("p") != nullptr && config.get<std::int64_t>("probability") != nullptr;
  return both ? "`p` or `probability`, which say the same, not both" : "";
}

std::string one_of_node_and_client(const FaultConfig& config) {
  const int given =
      (config.get<std::string>("node") != nullptr) + (config.get<std::string>("client") != nullptr);
  return given == 1 ? "" : "exactly one of `node` and `client`";
}

ClusterNode& node_of(FaultTargets& targets, const std::string& name) {
  ClusterNode* node = targets.cluster.find(name);
  if (node == nullptr) throw std::runtime_error("no node named '" + name + "'");
  return *node;
}

Healing take_down(FaultTargets& targets, const std::string& name, void (ClusterNode::*how)(),
                  bool keep_disk) {
  ClusterNode& node = node_of(targets, name);
  if (!node.running()) return {};
  const std::uint64_t killed = node.incarnation();
  (node.*how)();
  targets.tell({.what = checker::Effect::crashed, .party = name});
  return [name, killed, keep_disk](FaultTargets& later) {
    ClusterNode& node = node_of(later, name);
    if (node.incarnation() != killed) return;  // it was restarted meanwhile
    restart_node(later, node, keep_disk);
  };
}

void restart_node(FaultTargets& targets, ClusterNode& node, bool keep_disk) {
  node.restart(keep_disk);
  if (node.running()) targets.tell({.what = checker::Effect::restarted, .party = node.name()});
}

bool ask_patiently(FaultTargets& targets, ClusterNode& node, const std::function<void()>& what) {
  constexpr int kLostConnections = 5;              // another fault may throw out all clients
  constexpr std::chrono::seconds kMostSilence(1);  // it may be on its way down
  Runtime& harness = targets.world.harness().runtime();
  const std::uint64_t asked = node.incarnation();
  MonotonicTime first_lost{};
  for (int lost = 0;;) {
    try {
      what();
      return true;
    } catch (const NodeRefuses& refusal) {
      if (!node.running() || node.incarnation() != asked) return false;
      if (!refusal.for_now()) throw;
      lost = 0;
    } catch (const std::exception&) {
      if (!node.running() || node.incarnation() != asked) return false;
      if (node.in_force(kPaused) > 0) lost = 0;
      if (++lost == 1) first_lost = harness.now();
      if (lost > kLostConnections && harness.now() - first_lost > kMostSilence) throw;
    }
    harness.sleep_for(std::chrono::milliseconds(1));
    if (!node.running() || node.incarnation() != asked) return false;
  }
}

RuleId hit_by_errors(FaultTargets& targets, const std::string& node, std::string code) {
  NthMessage told;
  told.which = [node](const Link& link) { return Lanes{.reply = link.of_client() && link.to == node}; };
  told.matches = [code = std::move(code)](const Message& message) {
    return message.reply != nullptr && message.reply->error_code() == code;
  };
  told.count = 0;
  told.on_hit = targets.hit;
  return targets.proxy.add_rule(make_nth_message_rule(std::move(told)));
}

CommandFault::CommandFault(std::string kind, std::string node, Command command, Command heals)
    : kind_(std::move(kind)),
      node_(std::move(node)),
      command_(std::move(command)),
      heals_(std::move(heals)) {}

Healing CommandFault::act(FaultTargets& targets) {
  ClusterNode& node = node_of(targets, node_);
  if (!node.running()) return {};
  const std::uint64_t before = node.incarnation();
  const bool first = heals_.empty() || node.in_force(kind_)++ == 0;
  if (first && !ask_patiently(targets, node, [&] { node.administer(command_); })) return {};
  targets.hit();
  if (heals_.empty()) return {};
  // Started again meanwhile: then it was the new one that did it, and is to be healed.
  const std::uint64_t asked = node.incarnation();
  if (asked != before) ++node.in_force(kind_);
  return [kind = kind_, name = node_, heals = heals_, asked](FaultTargets& later) {
    ClusterNode& node = node_of(later, name);
    if (!node.running() || node.incarnation() != asked) return;
    int& acts = node.in_force(kind);
    if (acts > 0 && --acts == 0) ask_patiently(later, node, [&] { node.administer(heals); });
  };
}

MessageFault::MessageFault(const FaultConfig& config, Direction direction, Act each, Matches matches)
    : MessageFault(config, direction, Action{}, std::move(matches)) {
  each_ = std::move(each);
}

MessageFault::MessageFault(const FaultConfig& config, Direction direction, Action action, Matches matches) {
  options_.which = [client = text_of(config, "client"), node = text_of(config, "node"),
                    direction](const Link& link) {
    const bool hit =
        (client.empty() ? link.of_client() : link.from == client) && (node.empty() || link.to == node);
    return Lanes{.request = hit && direction == Direction::request,
                 .reply = hit && direction == Direction::reply};
  };
  options_.matches = std::move(matches);
  options_.chance = chance_of(config);
  const bool drawn =
      config.get<std::int64_t>("p") != nullptr || config.get<std::int64_t>("probability") != nullptr;
  options_.nth = count_of(config, "nth", 1);
  options_.count = count_of(config, "count", drawn ? 0 : 1);
  options_.action = std::move(action);
}

Healing MessageFault::act(FaultTargets& targets) {
  const auto id = std::make_shared<RuleId>(0);
  NthMessage options = options_;
  options.draws = targets.rng.child("messages");
  options.on_hit = targets.hit;
  if (each_) {
    options.act = [each = each_, rng = std::make_shared<Rng>(targets.rng.child("what"))](
                      const Message& message) { return each(message, *rng); };
  }
  // What streams goes on until the act is healed.
  if (options.action.kind != Action::Kind::stream)
    options.on_done = [id, &proxy = targets.proxy] { proxy.remove_rule(*id); };
  *id = targets.proxy.add_rule(make_nth_message_rule(std::move(options)));
  return [id](FaultTargets& later) { later.proxy.remove_rule(*id); };
}

std::vector<FaultKey> message_keys() {
  return {
      {"client", FaultKey::Type::client, false, "only links of this client (default: all clients)"},
      {"node", FaultKey::Type::node, false, "only links to this node (default: all nodes)"},
      {"nth", FaultKey::Type::count, false,
       "which matching message, counted from 1 since the fault acts (default 1)"},
      {.name = "count",
       .type = FaultKey::Type::count,
       .about = "how many from there on (default 1, with `probability` or `p` 0; 0: all until it heals)",
       .least = 0},
      {"probability", FaultKey::Type::percent, false,
       "each one from there on is hit with this probability, such as \"5%\"; drawn for each link by itself"},
      {"p", FaultKey::Type::probability, false, "the same as a number, such as 0.02"},
  };
}

std::function<bool(const Message&)> command_matcher(const FaultConfig& config) {
  return [command = upper_case(text_of(config, "command"))](const Message& message) {
    return !message.command.empty() && (command.empty() || message.command == command);
  };
}

std::vector<FaultKey> command_keys() {
  std::vector<FaultKey> keys = {
      {"command", FaultKey::Type::text, false, "only this command, \"EVALSHA\" (default: any)"}};
  for (FaultKey& key : message_keys()) keys.push_back(std::move(key));
  return keys;
}

}  // namespace holdfast::sim
