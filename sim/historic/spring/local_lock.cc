#include "sim/historic/spring/local_lock.h"

#include <algorithm>
#include <mutex>

#include "lib/runtime/check.h"

namespace holdfast::historic {

void LocalLock::wake_first() {
  if (!waiting_.empty()) waiting_.front()->unpark();
}

bool LocalLock::take_at_head(const Parker& me) {
  if (taken_ || waiting_.front() != &me) return false;
  waiting_.pop_front();
  return taken_ = true;
}

// The wake-up that it may have had belongs to the next.
void LocalLock::give_up(const Parker& me) {
  std::erase(waiting_, &me);
  if (!taken_) wake_first();
}

LocalLock::Entry LocalLock::enter(MonotonicTime deadline, const std::stop_token& stop) {
  if (stop.stop_requested()) return Entry::stopped;
  Parker& me = runtime_.parker();
  {
    const std::scoped_lock guard(mutex_);
    if (!taken_) {
      taken_ = true;
      return Entry::granted;
    }
    if (runtime_.now() >= deadline) return Entry::timed_out;
    waiting_.push_back(&me);
  }
  struct Leave {  // when the process ends
    LocalLock& lock;
    const Parker& me;
    ~Leave() {
      try {
        const std::scoped_lock guard(lock.mutex_);
        std::erase(lock.waiting_, &me);
      } catch (const TaskCancelled&) {
        std::erase(lock.waiting_, &me);
      }
    }
  } leave{*this, me};
  const std::stop_callback wake(stop, [&me] { me.unpark(); });
  for (;;) {
    me.park_until(deadline);
    const std::scoped_lock guard(mutex_);
    const bool stopped = stop.stop_requested();
    if (!stopped && take_at_head(me)) return Entry::granted;
    if (!stopped && runtime_.now() < deadline) continue;
    give_up(me);
    return stopped ? Entry::stopped : Entry::timed_out;
  }
}

void LocalLock::leave() noexcept {
  try {
    const std::scoped_lock guard(mutex_);
    HF_CHECK(taken_, "a local lock is released by who has it");
    taken_ = false;
    wake_first();
  } catch (const TaskCancelled&) {  // the process is gone: nobody is left to take it
  }
}

std::size_t LocalLock::waiting() {
  const std::scoped_lock guard(mutex_);
  return waiting_.size();
}

bool LocalLock::taken() {
  const std::scoped_lock guard(mutex_);
  return taken_;
}

}  // namespace holdfast::historic
