#include "fenced_lock.h"

#include "reentrant_scripts.h"
#include "wire_lock.h"

namespace holdfast {
namespace {

LockOptions with_fencing(LockOptions options) {
  options.fencing = true;
  return options;
}

}  // namespace

FencedLocks::FencedLocks(redis::Client& client, LockOptions options)
    : Locks(client, with_fencing(std::move(options))) {}

std::shared_ptr<Lock> FencedLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, reentrant_wire(key, true));
}

}  // namespace holdfast
