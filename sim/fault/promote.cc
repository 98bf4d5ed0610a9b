// promote: a replica becomes a primary (REPLICAOF NO ONE); nobody tells the old one. Nothing to heal. One
// that is dead, or dies before it answers, is not promoted, and no effect is told.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Promote final : public Fault {
 public:
  explicit Promote(const FaultConfig& config) : node_(text_of(config, "node")) {}
  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    if (!ask_patiently(targets, node, [&] { node.promote(); })) return {};
    node.in_force("read-only-moment") = 0;
    targets.tell({.what = checker::Effect::promoted, .party = node_});
    return {};
  }

 private:
  std::string node_;
};

}  // namespace

FaultKind promote_fault() {
  FaultKind kind{.name = "promote", .about = "a replica is made a primary"};
  kind.keys = {{"node", FaultKey::Type::node, true, "the replica"}};
  kind.at_once = true;
  kind.changes_role = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Promote>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
