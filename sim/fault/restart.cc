// restart: a node starts again after a crash; one that runs is killed first. It has the role that it had: an
// old primary comes back as one. Nothing to heal.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Restart final : public Fault {
 public:
  explicit Restart(const FaultConfig& config)
      : node_(text_of(config, "node")), keep_disk_(text_of(config, "disk", "keep") == "keep") {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (node.running()) {
      node.crash();
      targets.tell({.what = checker::Effect::crashed, .party = node_});
    }
    restart_node(targets, node, keep_disk_);
    return {};
  }

 private:
  std::string node_;
  bool keep_disk_;
};

}  // namespace

FaultKind restart_fault() {
  FaultKind kind{.name = "restart", .about = "a node starts again, with its disk or an empty one"};
  kind.keys = {
      {"node", FaultKey::Type::any_node, true, "which node"},
      {"disk", FaultKey::Type::text, false, "its files: keep (default) or lose", {"keep", "lose"}},
  };
  kind.at_once = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Restart>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
