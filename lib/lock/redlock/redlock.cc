#include "lib/lock/redlock/redlock.h"

#include <stdexcept>

#include "lib/lock/engine/lock_context.h"
#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/store/quorum_store.h"

namespace holdfast {
namespace {

LockOptions checked(LockOptions options) {
  if (options.replicas != 0) {
    throw std::invalid_argument(
        "replicas: the servers of a Redlock are no replicas; a majority of them has each grant");
  }
  if (options.survivor) {
    throw std::invalid_argument("survivor: of one replicated set; the servers of a Redlock are independent");
  }
  return options;
}

}  // namespace

Redlocks::Redlocks(std::vector<redis::Client*> servers, RedlockOptions options)
    : Locks(std::make_unique<QuorumStore>(std::move(servers), options.node_timeout, options.lock.lease),
            checked(options.lock)) {}

std::shared_ptr<Lock> Redlocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, reentrant_wire_polling(key, context_->options));
}

}  // namespace holdfast
