#include "redisson_lock.h"

#include <stdexcept>

#include "reentrant_scripts.h"
#include "wire_lock.h"

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
