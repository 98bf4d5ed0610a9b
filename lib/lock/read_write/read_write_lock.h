// The read-write lock: many readers, or one writer. The object itself is the write side (Lock); the read side
// has the names of std::shared_mutex (SharedTimedLockable), so that std::shared_lock<ReadWriteLock> works.
//
// - Each reader and the writer have leases of their own, renewed by the watchdog: a reader that died
//   holds up a writer for a lease at most, and nobody renews for another one.
// - Both sides are reentrant. The writer may also read. When it gives the write side back while it still
//   reads, and at downgrade(), it becomes a reader without a moment between. Where that fails, what it read
//   is lost, and to be given back as after any loss. A reader that asks to write would wait: WouldDeadlock.
// - Waiting: who waits stands in one queue on the server, and a release hands over: to the first waiter if
//   it is a writer, else to all readers before the first writer at once. A downgrade lets those readers in
//   beside the new one, and so does a writer that gives up. One message each, two commands a grant,
//   however many wait (reentrant_lock.h says what else holds of a hand-over).
// - Order. Among those who wait (lock(), lock_shared(), a try with a deadline) nobody goes in before one that
//   came first and excludes it: readers that come while a writer waits wait behind it. Neither side starves
//   the other. (A task that reads, and waits for another one that asks to read, may wait for ever:
//   a writer may have come between.)
//   Not fair: a waiter that does not listen just then (it is connecting anew) is passed over and keeps its
//   place, and who asks while nobody is inside goes in; try_lock_shared() also does beside readers.
//   Fair (ReadWriteOptions::fair): neither happens, as long as the waiter is alive; only readers may pass
//   readers. What the fair lock says about dead and paused waiters holds (fair_lock.h).
// - The record tells its kind, so that locks of other kinds on that key are refused (Rejected) while it
//   stands, and this one while theirs does. All times are the server's.
// - Processes of the version before may go on working on the same keys: nobody is granted what the other
//   version's hold excludes. Waiters of one version are not called by releases of the other one while waiters
//   of that one are there; they look again by themselves.
//
// Thread safety: any task. Ownership is by task, or by Owner (owner.h).
#pragma once

#include <memory>
#include <string>

#include "lib/lock/api/guard.h"
#include "lib/lock/api/locks.h"
#include "lib/redis/threaded_client.h"

namespace holdfast {

// What all read-write locks of one process have in common.
struct ReadWriteOptions {
  LockOptions lock = {};  // of both sides
  bool fair = false;      // first come, first served
};

// As a Lock it is the write side; force_unlock() takes it from readers, too.
class ReadWriteLock : public Lock {
 public:
  // [parks] From writer to reader. Throws NotOwner when the calling task does not hold the write side exactly
  // once, LockLost when it no longer held it on the server, or no server answered by the end of its lease,
  // Unavailable. After these two it holds neither; nor after such a release() by who reads, too.
  virtual void downgrade() = 0;

  // --- read side: as the members of Lock without "shared" ------------------------------------------------
  void lock_shared() { read().lock(); }                               // [parks] as Lock::lock()
  [[nodiscard]] bool try_lock_shared() { return read().try_lock(); }  // [parks] as Lock::try_lock()
  void unlock_shared() { read().unlock(); }                           // [parks] as Lock::unlock()
  void release_shared() { read().release(); }                         // [parks] as Lock::release()
  // [parks] As Lock::try_lock_until(). A deadline on another clock is translated when the call begins.
  template <class Clock, class Unit>
  [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Unit>& deadline,
                                           std::stop_token stop = {}) {
    return read().try_lock_until(deadline, std::move(stop));
  }
  // [parks] As Lock::try_lock_for().
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait,
                                         std::stop_token stop = {}) {
    return read().try_lock_for(wait, std::move(stop));
  }
  // The read side as a Lock of its own, for whatever takes a Lock.
  [[nodiscard]] virtual Lock& read() noexcept = 0;
};

// The read-write locks of one process on one Redis.
class ReadWriteLocks final : public Locks {
 public:
  // See Locks::Locks.
  ReadWriteLocks(redis::Client& client, ReadWriteOptions options)
      : Locks(client, std::move(options.lock)), fair_(options.fair) {}
  // See Locks::obtain.
  [[nodiscard]] std::shared_ptr<ReadWriteLock> obtain(const std::string& key) {
    return std::static_pointer_cast<ReadWriteLock>(Locks::obtain(key));
  }

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
  const bool fair_;
};

}  // namespace holdfast
