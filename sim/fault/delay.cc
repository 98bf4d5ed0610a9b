// delay: messages take longer on some links; with a range, each by a time of its own (jitter). Order on a
// connection is kept. Healing: the rule goes; what is under way keeps its time.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Delay final : public RuleFault {
 public:
  explicit Delay(const FaultConfig& config) : lanes_(lanes_of(config)), chance_(chance_of(config)) {
    if (const auto* range = config.get<DurationRange>("delay")) range_ = *range;
  }

 private:
  std::shared_ptr<Rule> make_rule(FaultTargets& targets) override {
    return make_delay_rule(lanes_, range_, targets.rng.child("delay"), chance_);
  }

  LaneFilter lanes_;
  DurationRange range_;
  const Chance chance_;
};

}  // namespace

FaultKind delay_fault() {
  FaultKind kind{.name = "delay",
                 .about = "messages between two sides arrive late; a range of delays is jitter"};
  kind.keys = party_keys();
  kind.keys.push_back(
      {"delay", FaultKey::Type::range, true, "how late: \"20ms\" or, drawn for each, \"1ms..30ms\""});
  kind.keys.push_back(p_key());
  kind.on_links = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Delay>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
