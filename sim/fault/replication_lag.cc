// replication-lag: what a primary sends to one replica arrives late; without `delay` it is frozen, the end of
// a dead primary's connection included (or the replica would learn of it). What the replica sends back
// passes. Healing: what was held arrives, in order.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class ReplicationLag final : public RuleFault {
 public:
  explicit ReplicationLag(const FaultConfig& config) : node_(text_of(config, "node")) {
    if (const auto* delay = config.get<DurationRange>("delay"))
      delay_ = std::make_unique<DurationRange>(*delay);
  }

  Healing act(FaultTargets& targets) override {
    Healing release = RuleFault::act(targets);
    targets.tell({.what = checker::Effect::lagging, .party = node_});
    return [release = std::move(release), node = node_](FaultTargets& later) {
      release(later);
      later.tell({.what = checker::Effect::caught_up, .party = node});
    };
  }

 private:
  std::shared_ptr<Rule> make_rule(FaultTargets& targets) override {
    LaneFilter stream = [node = node_](const Link& link) {
      return Lanes{.request = false, .reply = link.replication && link.from == node};
    };
    if (delay_ == nullptr) return make_hold_rule(std::move(stream));
    return make_delay_rule(std::move(stream), *delay_, targets.rng.child("delay"));
  }

  std::string node_;
  std::unique_ptr<DurationRange> delay_;
};

}  // namespace

FaultKind replication_lag_fault() {
  FaultKind kind{.name = "replication-lag",
                 .about = "a replica gets its primary's writes late, or not at all"};
  kind.keys = {
      {"node", FaultKey::Type::node, true, "the replica"},
      {"delay", FaultKey::Type::range, false, "how late: \"50ms\" or \"10ms..50ms\"; absent: frozen"},
  };
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ReplicationLag>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
