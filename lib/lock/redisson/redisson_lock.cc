#include "lib/lock/redisson/redisson_lock.h"

#include <stdexcept>

#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"

namespace holdfast {
namespace {

LockOptions without_fencing(LockOptions options) {
  if (options.fencing) throw std::invalid_argument("fencing: Redisson's layout has no place for tokens");
  return options;
}

}  // namespace

RedissonLocks::RedissonLocks(redis::Client& client, LockOptions options)
    : Locks(client, without_fencing(std::move(options))) {}

std::shared_ptr<Lock> RedissonLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, redisson_wire(key));
}

}  // namespace holdfast
