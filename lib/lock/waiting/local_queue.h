// LocalQueue: the tasks of one process queue here for one key, so that only one of them at a time asks Redis.
//
// First come, first served. The task that has the turn passes it on exactly once. A waiter that gives up just
// as it is given the turn passes it on, too, so a turn is never lost.
#pragma once

#include <cstddef>
#include <deque>
#include <stop_token>

#include "lib/runtime/runtime.h"

namespace holdfast {

class LocalQueue {
 public:
  enum class Entry { granted, timed_out, stopped, full };

  LocalQueue(Runtime& runtime, std::size_t max_waiters);

  // [parks] Waits for the turn. `full`: max_waiters tasks wait already.
  Entry enter(MonotonicTime deadline, const std::stop_token& stop);
  bool try_enter();
  // Gives the turn to the first waiter, or to nobody. REQUIRES: it is taken.
  void pass() noexcept;
  std::size_t waiting();

 private:
  struct Waiter {
    Parker& parker;
    bool granted = false;
  };
  void leave(Waiter& waiter) noexcept;

  Runtime& runtime_;
  const std::size_t max_waiters_;
  Mutex mutex_;
  bool taken_ = false;
  std::deque<Waiter*> waiting_;
};

}  // namespace holdfast
