// sentinel-failover: a Sentinel is asked to replace the primary (SENTINEL FAILOVER), without the consent of
// the others. The first that runs and takes the order does it; what comes of it the Sentinels tell themselves
// (Cluster::on_role_changed). Nothing to heal.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr int kMostAttempts = 200;

class SentinelFailover final : public Fault {
 public:
  explicit SentinelFailover(const FaultConfig&) {}

  Healing act(FaultTargets& targets) override {
    const std::vector<std::string> order = {"SENTINEL", "FAILOVER", std::string(kPrimaryName)};
    // It refuses as long as no replica is fit to be promoted.
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      for (const auto& sentinel : targets.cluster.sentinels()) {
        if (!sentinel->running()) continue;
        try {
          sentinel->administer(order);
          targets.hit();
          return {};
        } catch (const NodeRefuses& refusal) {
          if (refusal.says("INPROG")) return {};  // one is under way
          if (!refusal.says("NOGOODSLAVE")) throw;
        }
      }
      targets.world.harness().runtime().sleep_for(std::chrono::milliseconds(50));
    }
    return {};
  }
};

}  // namespace

FaultKind sentinel_failover_fault() {
  FaultKind kind{.name = "sentinel-failover", .about = "a Sentinel is asked to replace the primary"};
  kind.at_once = kind.tells_hits = kind.needs_sentinels = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<SentinelFailover>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
