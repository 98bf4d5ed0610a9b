#include "lib/lock/fair/fair_lock.h"

#include "generated/lock_scripts.h"
#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/fair/fair_scripts.h"
#include "lib/lock/reentrant/reentrant_scripts.h"

namespace holdfast {

const redis::Script kFairAcquire = lock_scripts::fair_acquire;
const redis::Script kFairRelease = lock_scripts::fair_release;

Wire fair_wire(const std::string& key, bool fencing) {
  const std::string queue = beside_key("holdfast:fair:queue", key);
  const std::string patience = beside_key("holdfast:fair:patience", key);
  Wire wire{.key = key,
            .acquire = &kFairAcquire,
            .release = &kFairRelease,
            .renew = &kReentrantRenew,
            .force = &kFairRelease,
            .acquire_keys = {key, queue, patience},
            .release_keys = {key, queue, patience},
            .renew_keys = {key},
            .waiting = Wire::Waiting::call,
            .local_queue = false,
            .server_queue = true};
  if (fencing) {
    wire.acquire_keys.push_back(token_key(key));
    wire.release_keys.push_back(token_key(key));
  }
  return wire;
}

std::shared_ptr<Lock> FairLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, fair_wire(key, context_->options.fencing));
}

}  // namespace holdfast
