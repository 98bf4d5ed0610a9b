// power-loss: the machine of a node loses its power: the server is gone, and so is what its disk did not have
// yet. What that is depends on `persistence`:
//
//   none, rdb      as a crash: everything; what came after the last snapshot
//   aof-always     nothing that was answered: the server syncs before it replies
//   aof-everysec   what came after the last sync: up to a second
//   aof-no         what the kernel had not written back by itself: up to 30 s (sim/redis/write_back.h)
//
// The machine is gone as well: connections to it do not end, they are silent; new ones get no answer (a
// crash refuses them at once). The loss cuts the end of the append-only file, at the end of a write; torn or
// garbled blocks are not modelled. Healing: the node comes back with what its disk has. A node that is dead
// already loses, too, what its kernel had not written, and is not told dead again.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class PowerLoss final : public Fault {
 public:
  explicit PowerLoss(const FaultConfig& config) : node_(text_of(config, "node")) {}
  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (node.running()) return take_down(targets, node_, &ClusterNode::lose_power, true);
    node.lose_power();
    return {};
  }

 private:
  std::string node_;
};

}  // namespace

FaultKind power_loss_fault() {
  FaultKind kind{.name = "power-loss",
                 .about = "a node is gone, with what its disk had not yet; with `for` it comes back"};
  kind.keys = {{"node", FaultKey::Type::any_node, true, "which node"}};
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<PowerLoss>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
