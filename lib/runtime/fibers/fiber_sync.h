// Mutex and condition of fibers. Ownership is handed to the first waiter that is not paused, so that a paused
// watchdog does not keep its client from a mutex.
#pragma once

#include "lib/runtime/fibers/scheduler.h"
#include "lib/runtime/runtime.h"

namespace holdfast::fibers {

// A queue of waiters; the nodes live on the waiters' stacks.
struct Waiter {
  Fiber* fiber = nullptr;
  bool queued = false;
  Waiter *next = nullptr, *previous = nullptr;
};

class WaiterQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  Waiter* head() const { return head_; }
  void push(Waiter& waiter);
  void remove(Waiter& waiter);

 private:
  Waiter *head_ = nullptr, *tail_ = nullptr;
};

class FiberMutex final : public Runtime::MutexImpl {
 public:
  // `group`: the process of the mutex; after it was killed the mutex excludes nobody.
  FiberMutex(Scheduler& scheduler, FiberGroup& group) : scheduler_(scheduler), group_(group) {}
  ~FiberMutex() override;

  void lock() override;
  bool try_lock() override;
  void unlock() noexcept override;

  void waiter_resumed() noexcept {
    if (owner_ == nullptr) hand_over();
  }
  // For a condition: takes the mutex back if it is free, without parking.
  void lock_if_free() noexcept {
    if (owner_ == nullptr) owner_ = &scheduler_.current();
  }

 private:
  void hand_over() noexcept;

  Scheduler& scheduler_;
  FiberGroup& group_;
  Fiber* owner_ = nullptr;
  WaiterQueue waiters_;
};

class FiberCondition final : public Runtime::ConditionImpl {
 public:
  FiberCondition(Scheduler& scheduler, const ProcessClock& clock) : scheduler_(scheduler), clock_(clock) {}
  ~FiberCondition() override;

  std::cv_status wait_until(Runtime::MutexImpl& held, MonotonicTime deadline) override;
  void notify_one() noexcept override;
  void notify_all() noexcept override;

 private:
  Scheduler& scheduler_;
  const ProcessClock& clock_;
  WaiterQueue waiters_;
};

}  // namespace holdfast::fibers
