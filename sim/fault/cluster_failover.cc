// cluster-failover: a replica of a Redis Cluster is asked to take its primary's place (CLUSTER FAILOVER).
// Asked plainly, it does so when the primary agrees and it has all that the primary wrote; `force` does
// without the primary, `takeover` without the votes of the other primaries too. Who is a primary already, or
// is dead, is not asked. What comes of it the nodes tell themselves (Cluster::on_role_changed). Nothing to
// heal.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class ClusterFailover final : public Fault {
 public:
  explicit ClusterFailover(const FaultConfig& config)
      : node_(text_of(config, "node")), how_(text_of(config, "how", "agreed")) {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    std::vector<std::string> order = {"CLUSTER", "FAILOVER"};
    if (how_ == "force") order.emplace_back("FORCE");
    if (how_ == "takeover") order.emplace_back("TAKEOVER");
    try {
      if (!ask_patiently(targets, node, [&] { node.administer(order); })) return {};
    } catch (const NodeRefuses& refusal) {
      if (!refusal.says("ERR")) throw;
      return {};  // a primary, or the replica of one that is dead and would have to agree
    }
    targets.hit();
    return {};
  }

 private:
  std::string node_, how_;
};

}  // namespace

FaultKind cluster_failover_fault() {
  FaultKind kind{.name = "cluster-failover", .about = "a replica of a Redis Cluster is asked to take over"};
  kind.keys = {
      {"node", FaultKey::Type::node, true, "the replica"},
      {"how",
       FaultKey::Type::text,
       false,
       "with the consent of its primary (agreed, the default), without it (force), or of anybody (takeover)",
       {"agreed", "force", "takeover"}}};
  kind.at_once = kind.tells_hits = kind.needs_cluster = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ClusterFailover>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
