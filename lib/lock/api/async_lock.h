// Acquiring without waiting: for code that has other things to do, and for work that moves between threads.
//
//   Owner order(runtime);
//   auto pending = acquire_async(lock, order, deadline);       // a task of its own asks
//   ...
//   if (pending.wait()) { ActAs me(runtime, order); work(); lock->unlock(); }
//
// The lock belongs to the Owner, not to a task (owner.h). On threads acquire_future() gives a std::future
// instead, whose get() may be called where no Runtime task is; on fibers it would stop every other fiber.
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>

#include "lib/lock/api/lock.h"
#include "lib/lock/api/owner.h"

namespace holdfast {

// What becomes of an acquire: granted or not, or what it threw.
using AcquireOutcome = std::function<void(bool granted, const std::exception_ptr& failure)>;

// An acquire that is under way. Copies share it. When the last copy goes away an acquire that still waits is
// told to stop, and its end is waited for; what was granted before belongs to the owner.
class [[nodiscard]] PendingLock {
 public:
  // [parks] True: the owner holds the lock. False: not granted in time. Throws what the acquire threw.
  [[nodiscard]] bool wait() const;
  [[nodiscard]] bool ready() const;  // wait() would not wait

 private:
  friend PendingLock acquire_async(std::shared_ptr<Lock> lock, const Owner& owner, MonotonicTime deadline,
                                   std::stop_token stop, AcquireOutcome then);
  struct State;
  explicit PendingLock(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// Lock::try_lock_until() in a task of its own (role "acquirer"), in the name of `owner`. `then` is called on
// that task when the outcome is known; it must not throw. A stop request, or the end of the last PendingLock,
// makes it Interrupted.
[[nodiscard]] PendingLock acquire_async(std::shared_ptr<Lock> lock, const Owner& owner,
                                        MonotonicTime deadline = kNever, std::stop_token stop = {},
                                        AcquireOutcome then = {});

// The same as a std::future. `keep` must live until the future is ready: it is the task, which stops without.
struct [[nodiscard]] FutureLock {
  std::future<bool> granted;  // as PendingLock::wait()
  PendingLock keep;           // the task
};
// As acquire_async().
[[nodiscard]] FutureLock acquire_future(std::shared_ptr<Lock> lock, const Owner& owner,
                                        MonotonicTime deadline = kNever, std::stop_token stop = {});

}  // namespace holdfast
