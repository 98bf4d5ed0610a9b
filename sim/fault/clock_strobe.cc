// clock-strobe: the wall clock of a node or a client jumps forward and back, over and over: each `period` it
// is `by` off, or right again. Redis counts expiry on it: what ends while the clock is off is gone. Healing:
// it is right, and stays so.
#include <chrono>
#include <functional>
#include <memory>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

// Of one act: shared by its task, which jumps, and its healing.
struct Strobe {
  bool over = false, off = false;
};

class ClockStrobe final : public Fault {
 public:
  explicit ClockStrobe(const FaultConfig& config)
      : node_(text_of(config, "node")), client_(text_of(config, "client")) {
    if (const Duration* by = config.get<Duration>("by")) by_ = *by;
    if (const Duration* period = config.get<Duration>("period")) period_ = *period;
  }

  Healing act(FaultTargets& targets) override {
    const auto strobe = std::make_shared<Strobe>();
    const std::function<bool(Duration)> jump = jumper(targets);
    if (!jump(by_)) return {};
    strobe->off = true;
    World& world = targets.world;
    world.harness().start("nemesis", [&world, strobe, jump, by = by_, period = period_] {
      for (;;) {
        world.harness().runtime().sleep_for(period);
        if (strobe->over || !jump(strobe->off ? -by : by)) return;
        strobe->off = !strobe->off;
      }
    });
    return [strobe, jump, by = by_](FaultTargets&) {
      strobe->over = true;
      if (strobe->off) jump(-by);
    };
  }

 private:
  // Moves the clock and tells so. A node's clock is the machine's; a later incarnation of a client has a
  // clock of its own: false, there is none to move any more.
  std::function<bool(Duration)> jumper(FaultTargets& targets) const {
    if (!node_.empty()) {
      return [&node = node_of(targets, node_), tell = targets.tell](Duration by) {
        node.step_clock(by);
        tell({.what = checker::Effect::clock_stepped, .party = node.name(), .by = by});
        return true;
      };
    }
    return [process = targets.client(client_), client = client_, tell = targets.tell](Duration by) {
      if (process == nullptr || !process->alive()) return false;
      process->step_wall(by);
      tell({.what = checker::Effect::clock_stepped, .party = client, .by = by});
      return true;
    };
  }

  const std::string node_, client_;
  Duration by_{};
  Duration period_ = std::chrono::milliseconds(100);
};

}  // namespace

FaultKind clock_strobe_fault() {
  FaultKind kind{.name = "clock-strobe",
                 .about = "the wall clock of a node or a client jumps forward and back, over and over"};
  kind.keys = {
      {"node", FaultKey::Type::any_node, false, "whose clock (or `client`)"},
      {"client", FaultKey::Type::client, false, "whose clock (or `node`)"},
      {"by", FaultKey::Type::duration, true, "how far: \"10s\", \"-300ms\""},
      {"period", FaultKey::Type::duration, false, "how long it stays off, and right (100ms)"},
  };
  kind.must_end = true;
  kind.inside_client = true;
  kind.inside_programs = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ClockStrobe>(config);
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    const Duration* const period = config.get<Duration>("period");
    if (period != nullptr && *period < std::chrono::milliseconds(1))
      return "a `period` of a millisecond or more";
    return one_of_node_and_client(config);
  };
  return kind;
}

}  // namespace holdfast::sim
