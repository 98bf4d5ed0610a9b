// The two clocks of a process, as types that cannot be mixed up.
//
// MonotonicTime never steps: it counts suspended time too, and between two machines it differs
// only in rate. Leases are counted on it. WallTime is the time of day; it steps whenever somebody
// corrects it, so nothing in this library decides by it.
#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast {

using Duration = std::chrono::nanoseconds;  // of every span of time

// The clock that never steps. It has no now(): Runtime::now() reads it.
struct MonotonicClock {
  using duration = Duration;                                             // what the standard wants of a clock
  using rep = duration::rep;                                             // what the standard wants of a clock
  using period = duration::period;                                       // what the standard wants of a clock
  using time_point = std::chrono::time_point<MonotonicClock, duration>;  // what the standard wants of a clock
  static constexpr bool is_steady = true;                                // what the standard wants of a clock
};

// The clock that steps: the time of day (Runtime::wall_now()).
struct WallClock {
  using duration = Duration;                                        // what the standard wants of a clock
  using rep = duration::rep;                                        // what the standard wants of a clock
  using period = duration::period;                                  // what the standard wants of a clock
  using time_point = std::chrono::time_point<WallClock, duration>;  // what the standard wants of a clock
  static constexpr bool is_steady = false;                          // what the standard wants of a clock
};

using MonotonicTime = MonotonicClock::time_point;  // since some moment of this machine
using WallTime = WallClock::time_point;            // since the Unix epoch

// "No deadline": later than every other point in time. Never add to it.
inline constexpr MonotonicTime kNever = MonotonicTime::max();

// `start + wait`, or kNever where that would overflow. A negative wait is a deadline in the past.
constexpr MonotonicTime deadline_after(MonotonicTime start, Duration wait) {
  return wait >= kNever - start ? kNever : start + wait;
}

}  // namespace holdfast
