// slow-close: the end of a connection arrives late, on some links: whoever is left goes on waiting for
// answers on a connection that has no other side any more. What is sent before it arrives on time. Healing:
// later ends arrive at once.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class SlowClose final : public RuleFault {
 public:
  explicit SlowClose(const FaultConfig& config) : lanes_(lanes_of(config)) {
    if (const auto* range = config.get<DurationRange>("delay")) range_ = *range;
  }

 private:
  std::shared_ptr<Rule> make_rule(FaultTargets& targets) override {
    return make_slow_close_rule(lanes_, range_, targets.rng.child("delay"));
  }

  const LaneFilter lanes_;
  DurationRange range_;
};

}  // namespace

FaultKind slow_close_fault() {
  FaultKind kind{.name = "slow-close", .about = "the ends of connections between two sides arrive late"};
  kind.keys = party_keys();
  kind.keys.push_back(
      {"delay", FaultKey::Type::range, true, "how late: \"2s\" or, drawn for each, \"500ms..3s\""});
  kind.on_links = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<SlowClose>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
