// Guard: holds a lock for a scope. Unlike std::lock_guard it survives a release that fails: unlock() of a
// lock on a network can throw (LockLost, Unavailable), and an exception out of a destructor ends the program.
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

  // [parks] Releases if release() was not called; errors are swallowed (the observer is told of a loss).
  ~Guard() {
    if (lock_ == nullptr) return;
    try {
      lock_->unlock();
    } catch (const LockError&) {
    } catch (const TaskCancelled&) {  // the process is being killed; its next port call says so again
    }
  }

  // [parks] Releases and says how it went: LockLost means that what was done under the lock may have been
  // done next to somebody else. Call it before relying on the work.
  void release() {
    Lock* const lock = lock_;
    lock_ = nullptr;
    if (lock != nullptr) lock->unlock();
  }

 private:
  Lock* lock_;
};

}  // namespace holdfast
