// Durations of all units as the Runtime's: for calls that the standard library makes (std::unique_lock).
#pragma once

#include <chrono>

#include "lib/runtime/time.h"

namespace holdfast {

// Any std::chrono duration as ours: rounded up, and bounded instead of overflowing.
template <class Rep, class Period>
constexpr Duration to_duration(const std::chrono::duration<Rep, Period>& wait) {
  using Seconds = std::chrono::duration<double>;
  constexpr Seconds kMost(9.2e9);  // 292 years
  if (!(Seconds(wait) < kMost)) return Duration::max();
  if (Seconds(wait) < -kMost) return -Duration::max();
  return std::chrono::ceil<Duration>(wait);
}

}  // namespace holdfast
