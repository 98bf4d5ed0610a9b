#include "sim/planted/planted_store.h"

#include "lib/lock/engine/lock_context.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/lock/store/quorum_store.h"

namespace holdfast::sim {
namespace {

class PlantedSpace final : public LockSpace {
 public:
  explicit PlantedSpace(std::unique_ptr<PlantedLocks> locks) : locks_(std::move(locks)) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override {
    std::shared_ptr<Lock>& lock = kept_[key];
    if (!lock) lock = locks_->obtain(key);
    return lock;
  }

 private:
  const std::unique_ptr<PlantedLocks> locks_;
  std::map<std::string, std::shared_ptr<Lock>> kept_;
};

}  // namespace

std::shared_ptr<Lock> PlantedLocks::make(const std::string& key) {
  Wire wire = wire_of_(key, context_->options);
  if (make_) return make_(context_, std::move(wire));
  return std::make_shared<WireLock>(context_, std::move(wire));
}

decltype(LockKind::make) planted_space(PlantedSpaceOptions planted) {
  return [planted = std::move(planted)](const LockSpaceOptions& options) -> std::unique_ptr<LockSpace> {
    std::unique_ptr<Store> store;
    if (planted.store) {
      store = planted.store(options.client);
    } else if (options.nodes.size() > 1) {
      store = std::make_unique<QuorumStore>(options.nodes, RedlockOptions().node_timeout, options.lock.lease);
    } else {
      store = make_store(options.client, options.lock);
    }
    if (planted.wrap) store = planted.wrap(options.client, std::move(store));
    return std::make_unique<PlantedSpace>(
        std::make_unique<PlantedLocks>(std::move(store), options.lock, planted.wire_of, planted.make));
  };
}

}  // namespace holdfast::sim
