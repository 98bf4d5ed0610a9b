// demote: a node is made a replica of another (REPLICAOF): an old primary when a split brain heals, or a
// replica whose primary was replaced. From now on it refuses writes, and when it synchronises it discards
// what it alone had. Nothing to heal. One that is dead, or dies before it answers, is not demoted, and no
// effect is told.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Demote final : public Fault {
 public:
  explicit Demote(const FaultConfig& config)
      : node_(text_of(config, "node")), primary_(text_of(config, "primary")) {}
  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    if (!ask_patiently(targets, node, [&] { targets.cluster.demote(node_, primary_); })) return {};
    node.in_force("read-only-moment") = 0;
    targets.tell({.what = checker::Effect::demoted, .party = node_});
    return {};
  }

 private:
  std::string node_, primary_;
};

}  // namespace

FaultKind demote_fault() {
  FaultKind kind{.name = "demote", .about = "a node is made a replica of another; what it alone had is lost"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"},
               {"primary", FaultKey::Type::node, true, "whom it follows from now on"}};
  kind.at_once = true;
  kind.changes_role = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Demote>(config);
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    return text_of(config, "node") == text_of(config, "primary") ? "another node as `primary`" : "";
  };
  return kind;
}

}  // namespace holdfast::sim
