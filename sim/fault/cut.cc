// cut: the connections that exist between two sides break off; new ones work at once, so that there is
// nothing to heal.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Cut final : public Fault {
 public:
  explicit Cut(const FaultConfig& config) : lanes_(lanes_of(config)) {}
  Healing act(FaultTargets& targets) override {
    const std::size_t cut =
        targets.proxy.reset_links([this](const Link& link) { return lanes_(link).any(); });
    if (cut > 0) targets.hit();
    return {};
  }

 private:
  LaneFilter lanes_;
};

}  // namespace

FaultKind cut_fault() {
  FaultKind kind{.name = "cut", .about = "existing connections between two sides break off; new ones work"};
  kind.keys = party_keys();
  kind.keys.pop_back();  // a connection breaks off both ways
  kind.at_once = true;
  kind.tells_hits = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Cut>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
