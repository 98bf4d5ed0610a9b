// clock-step: the wall clock of a node or a client jumps; monotonic clocks never do. Redis counts expiry on
// the wall clock, so that a step forward ends every lease of that node. Healing: it jumps back by as much.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class ClockStep final : public Fault {
 public:
  explicit ClockStep(const FaultConfig& config)
      : node_(text_of(config, "node")), client_(text_of(config, "client")) {
    if (const Duration* by = config.get<Duration>("by")) by_ = *by;
  }

  void act(FaultTargets& targets) override { step(targets, by_); }
  void heal(FaultTargets& targets) override { step(targets, -by_); }

 private:
  void step(FaultTargets& targets, Duration by) {
    if (!node_.empty()) {
      if (ClusterNode& node = node_of(targets, node_); node.running()) node.step_clock(by);
    } else if (Process* process = targets.client(client_); process != nullptr && process->alive()) {
      process->step_wall(by);
    }
  }

  std::string node_, client_;
  Duration by_{};
};

}  // namespace

FaultKind clock_step_fault() {
  FaultKind kind{.name = "clock-step",
                 .about = "the wall clock of a node or a client jumps; with `for`, back again"};
  kind.keys = {
      {"node", FaultKey::Type::node, false, "whose clock (or `client`)"},
      {"client", FaultKey::Type::client, false, "whose clock (or `node`)"},
      {"by", FaultKey::Type::duration, true, "how far: \"10s\", \"-300ms\""},
  };
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ClockStep>(config);
  };
  kind.problem = one_of_node_and_client;
  return kind;
}

}  // namespace holdfast::sim
