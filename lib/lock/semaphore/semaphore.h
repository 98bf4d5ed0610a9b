// The semaphore: at most so many permits are held at once, by tasks of any process; crash-safe, because every
// acquisition has a lease of its own that the watchdog renews.
//
// - acquire(n) takes n permits at once, or waits; a second acquire by the same task takes more.
//   release() and unlock() give back what the calling task took last: all of that acquisition. As a Lock,
//   lock() takes one.
// - How many permits there are is SemaphoreOptions::permits, until somebody calls set_permits(): then
//   that number counts for every process, and stays on the server.
// - Permits whose holder died come back when its lease runs out. All times are the server's.
// - Waiting: the tasks of a process queue here, and the first of them stands in the server's queue. A release
//   makes the first waiters that what is free is enough for the holders, in the order in which the server saw
//   them, and tells them: two commands a grant however many wait. So one that wants many permits is not
//   passed by later ones that want few. Who does not listen just then (it is connecting anew) is passed over
//   and keeps its place. Permits that came free by a lease that ran out, or by set_permits(), are whose who
//   asks first, as long as the first in the queue could take them, too.
//
// What locks.h says of repeated requests, validity and loss holds for each acquisition.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "lib/lock/api/guard.h"
#include "lib/lock/api/locks.h"
#include "lib/redis/threaded_client.h"

namespace holdfast {

// What all semaphores of one kind and process have in common.
struct SemaphoreOptions {
  LockOptions lock = {};  // of each acquisition
  int permits = 1;        // how many there are
};

class Semaphore : public Lock {
 public:
  // [parks] As Lock::lock(), try_lock() and try_lock_until(), for `permits` at once. Throws
  // std::invalid_argument for less than one, Rejected for more than there are.
  virtual void acquire(int permits = 1) = 0;
  // [parks] As acquire(), in one round trip. False: not so many are free, or they are kept for one who waits
  // for more.
  [[nodiscard]] virtual bool try_acquire(int permits = 1) = 0;
  // [parks] As acquire(). False: not granted by the deadline.
  [[nodiscard]] virtual bool try_acquire_until(MonotonicTime deadline, int permits = 1,
                                               std::stop_token stop = {}) = 0;
  // [parks] As try_acquire_until(). Throws std::invalid_argument for a wait below zero.
  [[nodiscard]] bool try_acquire_for(Duration wait, int permits = 1, std::stop_token stop = {}) {
    return try_acquire_until(end_of_wait(runtime(), wait), permits, std::move(stop));
  }
  // [parks] Permits that nobody holds, as the server sees it now.
  [[nodiscard]] virtual int free_permits() = 0;
  // [parks] How many permits there are from now on, for every process. Holders of more keep theirs.
  virtual void set_permits(int permits) = 0;
};

// The semaphores of one process on one Redis.
class Semaphores final : public Locks {
 public:
  // See Locks::Locks. Throws std::invalid_argument also for less than one permit.
  Semaphores(redis::Client& client, SemaphoreOptions options);
  // See Locks::obtain.
  [[nodiscard]] std::shared_ptr<Semaphore> obtain(const std::string& key) {
    return std::static_pointer_cast<Semaphore>(Locks::obtain(key));
  }

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
  const int permits_;
};

}  // namespace holdfast
