#include "lib/lock/waiting/local_queue.h"

#include <algorithm>
#include <mutex>

#include "lib/runtime/check.h"

namespace holdfast {

LocalQueue::LocalQueue(Runtime& runtime, std::size_t max_waiters)
    : runtime_(runtime), max_waiters_(max_waiters), mutex_(runtime) {}

bool LocalQueue::try_enter() {
  const std::scoped_lock hold(mutex_);
  if (taken_) return false;
  taken_ = true;
  return true;
}

LocalQueue::Entry LocalQueue::enter(MonotonicTime deadline, const std::stop_token& stop) {
  if (try_enter()) return Entry::granted;
  Waiter me{runtime_.parker()};
  {
    const std::scoped_lock hold(mutex_);
    if (!taken_) {
      taken_ = true;
      return Entry::granted;
    }
    if (waiting_.size() >= max_waiters_) return Entry::full;
    waiting_.push_back(&me);
  }
  // Whatever ends the wait, the end of the process included, takes `me` off the queue.
  struct Leave {
    LocalQueue& local_queue;
    Waiter& waiter;
    ~Leave() { local_queue.leave(waiter); }
  } leave{*this, me};
  const std::stop_callback wake(stop, [&me] { me.parker.unpark(); });
  for (;;) {
    const bool late = runtime_.now() >= deadline;
    {
      const std::scoped_lock hold(mutex_);
      if (me.granted) return Entry::granted;
      if (late || stop.stop_requested()) {
        std::erase(waiting_, &me);  // under the same lock: from here on nobody can give us the turn
        return late ? Entry::timed_out : Entry::stopped;
      }
    }
    me.parker.park_until(deadline);
  }
}

void LocalQueue::leave(Waiter& waiter) noexcept {
  try {
    const std::scoped_lock hold(mutex_);
    std::erase(waiting_, &waiter);
  } catch (const TaskCancelled&) {  // the process is gone, and the queue with it
    std::erase(waiting_, &waiter);
  }
}

std::size_t LocalQueue::waiting() {
  const std::scoped_lock hold(mutex_);
  return waiting_.size();
}

void LocalQueue::pass() noexcept {
  try {
    const std::scoped_lock hold(mutex_);
    HF_CHECK(taken_, "a turn can only be passed on by who has it");
    if (waiting_.empty()) {
      taken_ = false;
      return;
    }
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    next.granted = true;
    next.parker.unpark();           // under the lock: the waiter cannot be gone yet
  } catch (const TaskCancelled&) {  // the process is gone: nobody is left to take the turn
  }
}

}  // namespace holdfast
