// Wakeup: what makes a waiting task ask Redis again.
#pragma once

#include <atomic>
#include <stop_token>

#include "lib/runtime/runtime.h"

namespace holdfast {

// Belongs to the task that made it. signal() may come from any task while the object lives, also between two
// waits: it is kept.
class Wakeup {
 public:
  explicit Wakeup(Runtime& runtime) : runtime_(runtime), parker_(runtime.parker()) {}

  void signal() noexcept {
    signalled_ = true;
    parker_.unpark();
  }
  void clear() noexcept { signalled_ = false; }

  // [parks] Returns on a signal (then true), a stop request or at the deadline.
  bool wait_until(MonotonicTime deadline, const std::stop_token& stop) {
    const std::stop_callback wake(stop, [this] { parker_.unpark(); });
    for (;;) {
      if (signalled_.exchange(false)) return true;
      if (stop.stop_requested() || runtime_.now() >= deadline) return false;
      parker_.park_until(deadline);
    }
  }

 private:
  Runtime& runtime_;
  Parker& parker_;
  std::atomic<bool> signalled_{false};
};

}  // namespace holdfast
