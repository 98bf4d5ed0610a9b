// stall: bytes stop on some links, then continue: nothing is lost, nothing breaks, the ends of connections
// included. Healing: everything held arrives, in order.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Stall final : public RuleFault {
 public:
  explicit Stall(const FaultConfig& config) : lanes_(lanes_of(config)) {}

 private:
  std::shared_ptr<Rule> make_rule(FaultTargets&) override { return make_hold_rule(lanes_); }

  LaneFilter lanes_;
};

}  // namespace

FaultKind stall_fault() {
  FaultKind kind{.name = "stall", .about = "bytes between two sides stop, then all of them arrive"};
  kind.keys = party_keys();
  kind.must_end = true;
  kind.on_links = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Stall>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
