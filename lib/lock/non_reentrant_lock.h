// The non-reentrant lock: as the reentrant one (reentrant_lock.h), in the same layout, but a second acquire
// by its holder is a mistake that is told: lock(), and try_lock_until() without a deadline, throw
// WouldDeadlock; try_lock() and a try with a deadline return false at once.
#pragma once

#include "locks.h"

namespace holdfast {

class NonReentrantLocks final : public Locks {
 public:
  // See Locks::Locks.
  NonReentrantLocks(redis::Client& client, LockOptions options) : Locks(client, std::move(options)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
