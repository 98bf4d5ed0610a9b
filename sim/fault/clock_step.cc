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

  Healing act(FaultTargets& targets) override {
    if (!node_.empty()) {
      step_node(targets, node_, by_);
      return [node = node_, by = by_](FaultTargets& later) { step_node(later, node, -by); };
    }
    Process* const process = targets.client(client_);
    if (!step_client(targets, process, client_, by_)) return {};
    // A later incarnation has a clock of its own, which was never stepped.
    return [process, client = client_, by = by_](FaultTargets& later) {
      step_client(later, process, client, -by);
    };
  }

 private:
  // The clock is the machine's: it steps whether the server runs or not.
  static void step_node(FaultTargets& targets, const std::string& node, Duration by) {
    node_of(targets, node).step_clock(by);
    targets.tell({.what = checker::Effect::clock_stepped, .party = node, .by = by});
  }
  static bool step_client(FaultTargets& targets, Process* process, const std::string& client, Duration by) {
    if (process == nullptr || !process->alive()) return false;
    process->step_wall(by);
    targets.tell({.what = checker::Effect::clock_stepped, .party = client, .by = by});
    return true;
  }

  std::string node_, client_;
  Duration by_{};
};

}  // namespace

FaultKind clock_step_fault() {
  FaultKind kind{.name = "clock-step",
                 .about = "the wall clock of a node or a client jumps; with `for`, back again"};
  kind.keys = {
      {"node", FaultKey::Type::any_node, false, "whose clock (or `client`)"},
      {"client", FaultKey::Type::client, false, "whose clock (or `node`)"},
      {"by", FaultKey::Type::duration, true, "how far: \"10s\", \"-300ms\""},
  };
  kind.inside_client = true;
  kind.inside_programs = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ClockStep>(config);
  };
  kind.problem = one_of_node_and_client;
  return kind;
}

}  // namespace holdfast::sim
