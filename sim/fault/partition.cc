// partition: nothing gets through between two sides, or only one way. As TCP sees it: connections stay, what
// is sent waits, new connections are not made (their first packet is lost, and tried again after 1 s, 3 s,
// 7 s, ...). Healing: what waits arrives when its sender tries again, up to as late again as it has waited,
// on each connection at a moment of its own (Proxy::heal_rule); or, with `heal_by = "reset"`, the connections
// of that time break off and it is lost.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Partition final : public Fault {
 public:
  explicit Partition(const FaultConfig& config)
      : lanes_(lanes_of(config)), reset_(text_of(config, "heal_by", "resume") == "reset") {}

  Healing act(FaultTargets& targets) override {
    const RuleId rule = targets.proxy.add_rule(make_partition_rule(lanes_));
    return [rule, lanes = lanes_, reset = reset_](FaultTargets& later) {
      if (reset) later.proxy.reset_links([&lanes](const Link& link) { return lanes(link).any(); });
      later.proxy.heal_rule(rule);
    };
  }

 private:
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
  kind.on_links = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Partition>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
