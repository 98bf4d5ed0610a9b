// Guard: holds a lock for a scope, as std::lock_guard does, and can say how it went: release() throws
// LockLost when the work may have been done next to somebody else. The standard's guards call unlock(), which
// tells no loss.
#pragma once

#include "lib/lock/api/lock.h"

namespace holdfast {

class Guard {
 public:
  // [parks] Throws what lock() throws.
  explicit Guard(Lock& lock) : lock_(&lock) { lock.lock(); }
  // Takes over a lock that the calling task has acquired already.
  Guard(Lock& lock, std::adopt_lock_t) noexcept : lock_(&lock) {}
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // [parks] unlock() if release() was not called. Never throws.
  ~Guard() {
    if (lock_ == nullptr) return;
    try {
      lock_->unlock();
    } catch (const NotOwner&) {  // the lock was released under it: nothing is left to give back
    }
  }

  // [parks] Releases and says how it went: LockLost means that what was done under the lock may have been
  // done next to somebody else. Call it before relying on the work.
  void release() {
    Lock* const lock = lock_;
    lock_ = nullptr;
    if (lock != nullptr) lock->release();
  }

 private:
  Lock* lock_;
};

}  // namespace holdfast
