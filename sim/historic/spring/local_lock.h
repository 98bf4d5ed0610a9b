// LocalLock: the unfair lock that Spring's lock objects have in front of Redis, as java.util.concurrent's
// ReentrantLock is by default.
//
//   lock    takes it if it is free, whoever waits; else goes to the end of the queue and sleeps
//   unlock  makes it free and wakes the first of the queue, which has to take it, too: a task that asks in
//           the meantime, the one that released included, is there before (it barges in)
//
// The count of re-entry is kept by the lock object (PollingLock).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stop_token>

#include "lib/runtime/runtime.h"

namespace holdfast::historic {

class LocalLock {
 public:
  enum class Entry : std::uint8_t { granted, timed_out, stopped };

  explicit LocalLock(Runtime& runtime) : runtime_(runtime), mutex_(runtime) {}

  // [parks] `stopped` also when the stop was requested before the call, and the lock is free.
  Entry enter(MonotonicTime deadline, const std::stop_token& stop);
  // REQUIRES: it is taken.
  void leave() noexcept;
  std::size_t waiting();
  bool taken();

 private:
  bool take_at_head(const Parker& me);  // under mutex_
  void give_up(const Parker& me);       // the same
  void wake_first();                    // the same

  Runtime& runtime_;
  Mutex mutex_;
  bool taken_ = false;
  std::deque<Parker*> waiting_;
};

// Goes back to the threads of this process at the end, unless it is kept (`local` is set to null).
struct GiveBack {
  LocalLock* local;
  ~GiveBack() {
    if (local != nullptr) local->leave();
  }
};

}  // namespace holdfast::historic
