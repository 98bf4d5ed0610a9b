// YieldBudget: whether a thread that has to wait lets others run a few times before it goes to sleep.
//
// What many threads wait for (their replies, which one of them reads for all) mostly comes while those others
// run: then yielding costs a thread half of what sleeping and being woken does, and its waker no system call.
// It must not be done where it does not pay, so each thread learns from its own waits: after one for which
// yielding was in vain, the next two sleep at once (two, so that a thread with long and short waits by turns
// does not always try at the long ones). If a yield took so long that another process needs the processor,
// which would get a time slice at each yield, many of the next waits sleep.
#pragma once

#include "lib/runtime/time.h"

namespace holdfast {

class YieldBudget {
 public:
  static constexpr int kYields = 5;  // for one wait: a few microseconds where nobody else wants to run
  static constexpr Duration kSlow = std::chrono::milliseconds(1);  // one yield: others need the processor
  static constexpr unsigned kSkippedAfterVain = 2, kSkippedAfterSlow = 64;

  // Asked once for each wait.
  bool worth_a_try() noexcept {
    if (skip_ == 0) return true;
    --skip_;
    return false;
  }
  // After a try: whether what was waited for came, and whether a yield took kSlow or longer.
  void tried(bool came, bool slow) noexcept {
    skip_ = slow ? kSkippedAfterSlow : came ? 0 : kSkippedAfterVain;
  }

 private:
  unsigned skip_ = 0;  // waits that are not tried
};

}  // namespace holdfast
