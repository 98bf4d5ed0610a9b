// partition: nothing gets through between two sides, or only one way. As TCP sees it: connections stay, what
// is sent waits, new connections get no answer. Healing: what waits arrives, late, as retransmissions do; or,
// with `heal_by = "reset"`, the connections of that time break off and it is lost.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Partition final : public RuleFault {
 public:
  explicit Partition(const FaultConfig& config)
      : lanes_(lanes_of(config)), reset_(text_of(config, "heal_by", "resume") == "reset") {}

  Healing act(FaultTargets& targets) override {
    return [release = RuleFault::act(targets), lanes = lanes_, reset = reset_](FaultTargets& later) {
      if (reset) later.proxy.reset_links([&lanes](const Link& link) { return lanes(link).any(); });
      release(later);
    };
  }

 private:
  std::shared_ptr<Rule> make_rule(FaultTargets&) override { return make_hold_rule(lanes_); }

  LaneFilter lanes_;
  bool reset_;
};

}  // namespace

FaultKind partition_fault() {
  FaultKind kind{.name = "partition", .about = "nothing gets through between two sides, or only one way"};
  kind.keys = party_keys();
  kind.keys.push_back(
      {"heal_by",
       FaultKey::Type::text,
       false,
       "what was sent meanwhile arrives (resume, the default) or connections break off (reset)",
       {"resume", "reset"}});
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Partition>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
