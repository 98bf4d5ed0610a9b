// failover: an administrator has a primary hand over to a replica (FAILOVER). The primary holds back who
// writes until the replica has everything, then asks it to take over, and follows it. Nothing is lost so.
// With `timeout` it gives up when the replica has not caught up by then; with `force` as well it hands over
// then all the same, and what the replica did not have is lost. Nothing to heal. One that is refused (by who
// is no primary, or has no replica), or given up, tells no effect.
// https://redis.io/docs/latest/commands/failover/
#include <chrono>
#include <set>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr std::chrono::milliseconds kLook(1);

class Failover final : public Fault {
 public:
  explicit Failover(const FaultConfig& config)
      : node_(text_of(config, "node")), to_(text_of(config, "to")), force_(flag_of(config, "force")) {
    if (const Duration* timeout = config.get<Duration>("timeout"))
      timeout_ms_ = std::chrono::ceil<std::chrono::milliseconds>(*timeout).count();
  }

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    CommandFault::Command order = {"FAILOVER"};
    if (!to_.empty()) {
      const Endpoint door = node_of(targets, to_).endpoint();
      order.insert(order.end(), {"TO", door.host, std::to_string(door.port)});
      if (force_) order.emplace_back("FORCE");
    }
    if (timeout_ms_ > 0) order.insert(order.end(), {"TIMEOUT", std::to_string(timeout_ms_)});
    const std::set<std::string> before = primaries(targets);
    const std::uint64_t asked = node.incarnation();
    try {
      if (!ask_patiently(targets, node, [&] { node.administer(order); })) return {};
    } catch (const NodeRefuses&) {
      return {};  // it is no primary, or nobody follows it
    }
    while (node.running() && node.incarnation() == asked &&
           says(node, "master_failover_state:no-failover") != 1)
      targets.world.harness().runtime().sleep_for(kLook);
    for (const std::string& name : primaries(targets)) {
      if (before.contains(name)) continue;
      targets.cluster.handed_over(node_, name);
      targets.tell({.what = checker::Effect::promoted, .party = name});
      targets.tell({.what = checker::Effect::demoted, .party = node_});
    }
    return {};
  }

 private:
  // Whether its INFO has this line; -1: it does not answer, or not now.
  static int says(ClusterNode& node, const std::string& line) {
    try {
      const std::string info = node.administer(std::vector<std::string>{"INFO", "replication"});
      return info.find(line) == std::string::npos ? 0 : 1;
    } catch (const std::exception&) {
      return -1;
    }
  }
  static std::set<std::string> primaries(FaultTargets& targets) {
    std::set<std::string> names;
    for (const auto& node : targets.cluster.nodes()) {
      if (node->running() && says(*node, "role:master") == 1) names.insert(node->name());
    }
    return names;
  }

  const std::string node_, to_;
  const bool force_;
  std::int64_t timeout_ms_ = 0;
};

}  // namespace

FaultKind failover_fault() {
  FaultKind kind{.name = "failover", .about = "a primary hands over to a replica (FAILOVER)"};
  kind.keys = {{"node", FaultKey::Type::node, true, "the primary"},
               {"to", FaultKey::Type::node, false, "the replica (default: whichever has everything first)"},
               {"timeout", FaultKey::Type::duration, false,
                "how long it waits for the replica, in whole milliseconds (default: for ever)"},
               {"force", FaultKey::Type::flag, false,
                "it hands over after `timeout` to a replica that has not everything (default false)"}};
  kind.at_once = kind.needs_replicas = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Failover>(config);
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    const Duration* const timeout = config.get<Duration>("timeout");
    if (timeout != nullptr && *timeout < std::chrono::milliseconds(1))
      return "a `timeout` of \"1ms\" or more";
    if (flag_of(config, "force") && (timeout == nullptr || text_of(config, "to").empty()))
      return "`to` and `timeout` with `force`: Redis forces nothing without them";
    return text_of(config, "node") == text_of(config, "to") ? "another node as `to`" : "";
  };
  return kind;
}

}  // namespace holdfast::sim
