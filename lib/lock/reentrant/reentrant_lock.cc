#include "lib/lock/reentrant/reentrant_lock.h"

#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"

namespace holdfast {
namespace {

LockOptions with_fencing(LockOptions options) {
  options.fencing = true;
  return options;
}

}  // namespace

FencedLocks::FencedLocks(redis::Client& client, LockOptions options)
    : Locks(client, with_fencing(std::move(options))) {}

std::shared_ptr<Lock> ReentrantLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, reentrant_wire(key, context_->options));
}

std::shared_ptr<Lock> NonReentrantLocks::make(const std::string& key) {
  Wire wire = reentrant_wire(key, context_->options);
  wire.reentry = Wire::Reentry::refused;
  return std::make_shared<WireLock>(context_, std::move(wire));
}

std::shared_ptr<Lock> SpinLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, reentrant_wire_polling(key, context_->options));
}

std::shared_ptr<Lock> FencedLocks::make(const std::string& key) {
  return std::make_shared<WireLock>(context_, reentrant_wire(key, context_->options));
}

}  // namespace holdfast
