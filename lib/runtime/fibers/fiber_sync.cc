#include "lib/runtime/fibers/fiber_sync.h"

#include "lib/runtime/check.h"

namespace holdfast::fibers {

// A waiter is a local variable of its task and leaves the queue before it goes out of scope; g++ 12 warns of
// a dangling pointer all the same.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
void WaiterQueue::push(Waiter& waiter) {
  waiter.queued = true;
  waiter.next = nullptr;
  waiter.previous = tail_;
  (tail_ != nullptr ? tail_->next : head_) = &waiter;
  tail_ = &waiter;
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

void WaiterQueue::remove(Waiter& waiter) {
  if (!waiter.queued) return;
  waiter.queued = false;
  (waiter.previous != nullptr ? waiter.previous->next : head_) = waiter.next;
  (waiter.next != nullptr ? waiter.next->previous : tail_) = waiter.previous;
}

FiberMutex::~FiberMutex() { HF_CHECK(waiters_.empty(), "a mutex is destroyed while somebody waits for it"); }

void FiberMutex::lock() {
  if (scheduler_.cancelled()) return;
  Fiber& self = scheduler_.current();
  if (owner_ == nullptr) {
    owner_ = &self;
    return;
  }
  if (group_.dead) return;
  HF_CHECK(owner_ != &self, "a mutex is locked again by the task that holds it");
  Waiter waiter{&self};
  waiters_.push(waiter);
  self.waiting_mutex = this;
  while (owner_ != &self && !self.group->dead && !group_.dead) scheduler_.suspend("a mutex");
  self.waiting_mutex = nullptr;
  waiters_.remove(waiter);
  if (self.group->dead) {
    if (owner_ == &self) unlock();
    scheduler_.cancelled();  // throws, unless the stack unwinds already
  }
}

bool FiberMutex::try_lock() {
  Fiber& self = scheduler_.current();
  if (owner_ == nullptr) {
    owner_ = &self;
    return true;
  }
  return group_.dead || self.group->dead;
}

void FiberMutex::unlock() noexcept {
  Fiber& self = scheduler_.current();
  if (owner_ != &self) {
    HF_CHECK(group_.dead || self.group->dead, "a mutex is unlocked by a task that does not hold it");
    return;
  }
  owner_ = nullptr;
  if (!waiters_.empty()) hand_over();
}

void FiberMutex::hand_over() noexcept {
  for (Waiter* waiter = waiters_.head(); waiter != nullptr; waiter = waiter->next) {
    if (waiter->fiber->role->blocked || waiter->fiber->group->dead) continue;
    owner_ = waiter->fiber;
    waiters_.remove(*waiter);
    scheduler_.wake(*owner_);
    return;
  }
}

FiberCondition::~FiberCondition() {
  HF_CHECK(waiters_.empty(), "a condition is destroyed while somebody waits for it");
}

std::cv_status FiberCondition::wait_until(Runtime::MutexImpl& held, MonotonicTime deadline) {
  if (scheduler_.cancelled()) return std::cv_status::timeout;
  auto& mutex = static_cast<FiberMutex&>(held);
  Fiber& self = scheduler_.current();
  Waiter waiter{&self};
  waiters_.push(waiter);
  mutex.unlock();
  const bool for_no_reason = !scheduler_.suspend_rarely("a condition", clock_, deadline);
  const bool notified = !waiter.queued || for_no_reason;
  waiters_.remove(waiter);
  if (self.group->dead) {
    mutex.lock_if_free();
    scheduler_.cancelled();  // throws, unless the stack unwinds already
    return std::cv_status::timeout;
  }
  mutex.lock();
  return notified ? std::cv_status::no_timeout : std::cv_status::timeout;
}

void FiberCondition::notify_one() noexcept {
  Waiter* const first = waiters_.head();
  if (first == nullptr) return;
  waiters_.remove(*first);
  scheduler_.wake(*first->fiber);
}

void FiberCondition::notify_all() noexcept {
  while (!waiters_.empty()) notify_one();
}

}  // namespace holdfast::fibers
