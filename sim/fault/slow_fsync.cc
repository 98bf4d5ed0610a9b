// slow-fsync: each sync of the append-only file of a node takes so much longer. With `persistence =
// "aof-always"` the whole server stands still meanwhile, and every answer is late. With `aof-everysec`
// another thread syncs: the server puts its writes off, for two seconds at most, so that a crash loses what
// came meanwhile, and a power loss more than a second. Healing: syncs are quick, also one that is under way.
// Acts at one node that overlap add up.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class SlowFsync final : public Fault {
 public:
  explicit SlowFsync(const FaultConfig& config)
      : node_(text_of(config, "node")), delay_(get_or<Duration>(config.values, "delay", Duration::zero())) {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    node.slow_disk(node.disk_delay() + delay_);
    targets.hit();
    return [name = node_, delay = delay_](FaultTargets& later) {
      ClusterNode& node = node_of(later, name);
      node.slow_disk(node.disk_delay() - delay);
    };
  }

 private:
  const std::string node_;
  const Duration delay_;
};

}  // namespace

FaultKind slow_fsync_fault() {
  FaultKind kind{.name = "slow-fsync", .about = "a node's disk takes its time to sync the append-only file"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"},
               {"delay", FaultKey::Type::duration, true, "how much longer each sync takes"}};
  kind.must_end = kind.tells_hits = kind.needs_append_only = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<SlowFsync>(config);
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    const Duration* const delay = config.get<Duration>("delay");
    return delay == nullptr || *delay > Duration::zero() ? "" : "a `delay` above \"0s\"";
  };
  return kind;
}

}  // namespace holdfast::sim
