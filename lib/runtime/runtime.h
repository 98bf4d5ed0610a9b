// Port Runtime: where time, tasks, waiting and randomness come from.
//
// Everything in `lib`, `sim` and `checker` that reads a clock, waits, starts a task or draws a number
// does it through this class. There are three implementations: std::thread and the OS clocks (for
// applications), fibers in virtual time (the embedded world) and fibers on an event loop (the real
// world). The suite in runtime_conformance_test.cc runs against all three.
//
// Code on this port is written in plain blocking style. A call marked [parks] may let other tasks run.
//
// The end of a process. A world can kill a process at any instant. From then on every [parks] call of
// its tasks throws TaskCancelled (or, while an exception is already unwinding the stack, returns at
// once), calls that do not park keep answering, and mutexes can no longer exclude anybody. So: let
// TaskCancelled pass (`catch (...)` must rethrow unless it ends the task), and let no destructor throw it.
#pragma once

#include <any>
#include <condition_variable>  // std::cv_status only
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>  // std::unique_lock only
#include <string_view>

#include "lib/runtime/time.h"

namespace holdfast {

// Thrown out of a parking call of a process that has been killed. Deliberately no std::exception:
// a handler for errors must not mistake the end of the process for one.
class TaskCancelled final {};

using TaskId = std::uint64_t;  // never 0, never used twice within one Runtime

// The place where one task sleeps. Each task has its own (Runtime::parker()); others wake it through
// the reference, which is valid as long as that task runs.
class Parker {
 public:
  virtual ~Parker() = default;

  // [parks] Returns true when unpark() was called since the last return, false at the deadline.
  // Only the task that owns the parker may call this. Wake-ups may be left over from an earlier use:
  // re-check the condition.
  virtual bool park_until(MonotonicTime deadline) = 0;

  // Wakes the owner, or makes its next park_until return at once. Any task may call it, any number of
  // times. Everything written before unpark() is visible after park_until() returned true.
  virtual void unpark() noexcept = 0;
};

// A running task; joined by join() or by the destructor. Move-only.
class Task {
 public:
  // What an implementation of the port gives.
  class Impl {
   public:
    virtual ~Impl() = default;
    virtual void join() = 0;                     // [parks] as Task::join()
    virtual bool finished() const noexcept = 0;  // as Task::finished()
  };

  Task() = default;                                                      // none
  explicit Task(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}  // for implementations of the port
  Task(Task&&) noexcept = default;                                       // takes it over
  Task& operator=(Task&& other) noexcept;                                // [parks] joins its own one first
  ~Task();

  // It is one, and was not joined yet.
  bool joinable() const noexcept { return impl_ != nullptr; }
  // Its body has returned, or it is none: join() would not wait.
  bool finished() const noexcept { return impl_ == nullptr || impl_->finished(); }
  // [parks] Returns when the body returned, also in a killed process: what the task uses may be destroyed
  // after it. A task that joins itself goes on alone instead, and ends when its body returns.
  void join();

 private:
  std::unique_ptr<Impl> impl_;
};

// What is waited for on a file descriptor.
enum class FdInterest { readable, writable };

class Runtime {
 public:
  virtual ~Runtime() = default;

  // --- clocks -------------------------------------------------------------------------------------
  virtual MonotonicTime now() const noexcept = 0;  // of the clock that never steps
  virtual WallTime wall_now() const noexcept = 0;  // the time of day; nothing may be decided by it

  // --- tasks --------------------------------------------------------------------------------------
  // Starts `body` as a task of the same process. `role` names its kind ("client", "watchdog",
  // "subscription", "reader", ...): faults and thread names go by it; it need not be unique.
  // An exception that leaves `body` ends the program, except TaskCancelled, which ends the task.
  [[nodiscard]] virtual Task spawn(std::string_view role, std::function<void()> body) = 0;

  virtual TaskId task_id() const noexcept = 0;  // of the calling task (a foreign thread gets one too)
  virtual Parker& parker() noexcept = 0;        // of the calling task

  // The calling task's own slot for `key` (an address that belongs to the caller); empty at first,
  // destroyed with the task.
  virtual std::any& task_local_slot(const void* key) = 0;

  // [parks] Until `deadline`, not shorter.
  virtual void sleep_until(MonotonicTime deadline) = 0;
  // [parks] For `wait`, not shorter.
  void sleep_for(Duration wait) { sleep_until(deadline_after(now(), wait)); }
  // [parks] Lets every other runnable task run once.
  virtual void yield() = 0;

  // --- randomness ---------------------------------------------------------------------------------
  // 64 uniform bits: unpredictable in an application, drawn from the seed in a simulated process.
  virtual std::uint64_t random() = 0;
  // What random() returns next was drawn after this call, not before it: nothing of it can be in a copy of
  // the process (a fork, a snapshot that is restored twice) that was made before.
  virtual void renew_randomness() noexcept {}
  // Uniform in [low, high], both included. REQUIRES: low <= high.
  std::uint64_t random_between(std::uint64_t low, std::uint64_t high);

  // --- file descriptors ---------------------------------------------------------------------------
  // [parks] True when `fd` is ready (or broken: the next call on it tells), false at the deadline.
  // The embedded world has no descriptors and fails an assertion.
  virtual bool wait_fd(int fd, FdInterest interest, MonotonicTime deadline) = 0;
  // Called before a descriptor is closed that was waited for: a runtime may go on watching it between waits,
  // and would take the next one of that number for it. Nobody waits for it any more.
  virtual void forget_fd(int fd) noexcept { static_cast<void>(fd); }

  // --- building blocks of Mutex and Condition (use those) -------------------------------------------
  // Behind Mutex.
  class MutexImpl {
   public:
    virtual ~MutexImpl() = default;
    virtual void lock() = 0;             // [parks] as Mutex::lock()
    virtual bool try_lock() = 0;         // as Mutex::try_lock()
    virtual void unlock() noexcept = 0;  // as Mutex::unlock()
  };
  // Behind Condition.
  class ConditionImpl {
   public:
    virtual ~ConditionImpl() = default;
    // [parks] `held` is locked by the caller, released while waiting, locked again on return.
    virtual std::cv_status wait_until(MutexImpl& held, MonotonicTime deadline) = 0;
    virtual void notify_one() noexcept = 0;  // as Condition::notify_one()
    virtual void notify_all() noexcept = 0;  // as Condition::notify_all()
  };
  virtual std::unique_ptr<MutexImpl> make_mutex() = 0;          // for Mutex
  virtual std::unique_ptr<ConditionImpl> make_condition() = 0;  // for Condition
};

// A mutex of tasks (Lockable). Fair enough not to starve; not reentrant.
class Mutex {
 public:
  explicit Mutex(Runtime& runtime) : impl_(runtime.make_mutex()) {}  // of the tasks of `runtime`
  void lock() { impl_->lock(); }                                     // [parks]
  bool try_lock() { return impl_->try_lock(); }                      // false: it is locked
  void unlock() noexcept { impl_->unlock(); }                        // REQUIRES: the caller has locked it
  Runtime::MutexImpl& impl() noexcept { return *impl_; }             // for Condition

 private:
  std::unique_ptr<Runtime::MutexImpl> impl_;
};

// A condition variable of tasks, for Mutex. Wake-ups may be spurious.
class Condition {
 public:
  // Of the tasks of `runtime`.
  explicit Condition(Runtime& runtime) : impl_(runtime.make_condition()) {}

  // [parks] Until somebody notifies, or the deadline.
  std::cv_status wait_until(std::unique_lock<Mutex>& lock, MonotonicTime deadline) {
    return impl_->wait_until(lock.mutex()->impl(), deadline);
  }
  // [parks] Until somebody notifies.
  void wait(std::unique_lock<Mutex>& lock) { wait_until(lock, kNever); }

  // [parks] Until `done()`. False when the deadline passed and `done()` still is false.
  template <class Predicate>
  bool wait_until(std::unique_lock<Mutex>& lock, MonotonicTime deadline, Predicate done) {
    while (!done()) {
      if (wait_until(lock, deadline) == std::cv_status::timeout) return done();
    }
    return true;
  }

  void notify_one() noexcept { impl_->notify_one(); }  // wakes one that waits
  void notify_all() noexcept { impl_->notify_all(); }  // wakes all that wait

 private:
  std::unique_ptr<Runtime::ConditionImpl> impl_;
};

}  // namespace holdfast
