// bandwidth: a link carries so many bytes a second, each way of each connection by itself. Order is kept;
// what comes faster waits. Healing: what waits goes on at once, and later bytes behind it.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Bandwidth final : public RuleFault {
 public:
  explicit Bandwidth(const FaultConfig& config)
      : lanes_(lanes_of(config)), rate_(count_of(config, "bytes_per_second", 0)) {}

 private:
  std::shared_ptr<Rule> make_rule(FaultTargets& targets) override {
    return make_bandwidth_rule(lanes_, rate_, targets.world.harness().runtime());
  }

  const LaneFilter lanes_;
  const std::int64_t rate_;
};

}  // namespace

FaultKind bandwidth_fault() {
  FaultKind kind{.name = "bandwidth", .about = "links between two sides carry so many bytes a second"};
  kind.keys = party_keys();
  kind.keys.push_back({.name = "bytes_per_second",
                       .type = FaultKey::Type::count,
                       .required = true,
                       .about = "of each way of each connection",
                       .most = 1'000'000'000});
  kind.on_links = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Bandwidth>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
