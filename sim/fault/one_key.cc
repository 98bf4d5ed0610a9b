// evict-key: one key of a server is gone, as when a full cache evicts it, or somebody deletes it by hand
// (DEL). Nothing to heal. It has hit when the key was there. A lock that keeps its state in several keys may
// be left with half of it. No lock promises to bear that: no hunt draws it.
#include <array>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class EvictKey final : public Fault {
 public:
  explicit EvictKey(const FaultConfig& config)
      : node_(text_of(config, "node")), key_(text_of(config, "key")) {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    // Asked twice, it may have been gone by the first time.
    bool there = false;
    const auto remove = [&] {
      const std::array<std::string, 2> type{"TYPE", key_}, del{"DEL", key_};
      there = there || node.administer(type) != "none";
      node.administer(del);
    };
    if (ask_patiently(targets, node, remove) && there) targets.hit();
    return {};
  }

 private:
  const std::string node_, key_;
};

}  // namespace

FaultKind evict_key_fault() {
  FaultKind kind{.name = "evict-key",
                 .about = "one key of a node is gone, as when a full cache evicts it (DEL)"};
  kind.keys = {
      {"node", FaultKey::Type::node, true, "which node"},
      {"key", FaultKey::Type::text, true, "its name in Redis, of a lock's record or of what is beside it"}};
  kind.at_once = kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<EvictKey>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
