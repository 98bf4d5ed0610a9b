// The clocks of one process, as functions of the scheduler's clock (nanoseconds since its driver was made).
#pragma once

#include <cstdint>

#include "lib/runtime/time.h"

namespace holdfast::fibers {

class ProcessClock {
 public:
  ProcessClock(MonotonicTime monotonic_at_zero, WallTime wall_at_zero)
      : monotonic_ns_(monotonic_at_zero.time_since_epoch().count()),
        wall_minus_monotonic_(wall_at_zero.time_since_epoch() - monotonic_at_zero.time_since_epoch()) {}

  MonotonicTime monotonic(std::int64_t at) const {
    const std::int64_t passed = at - since_;
    return MonotonicTime(Duration(monotonic_ns_ + (ppm_ == 0 ? passed : scaled(passed))));
  }
  WallTime wall(std::int64_t at) const {
    return WallTime(monotonic(at).time_since_epoch() + wall_minus_monotonic_);
  }
  // The first moment at which monotonic() shows `time` or more; INT64_MAX when that is out of range.
  std::int64_t moment_of(MonotonicTime time) const;

  void step_wall(Duration by) { wall_minus_monotonic_ += by; }
  // Both clocks run `ppm` parts per million fast from `at` on. REQUIRES: -1'000'000 < ppm.
  void set_drift(std::int64_t ppm, std::int64_t at);
  std::int64_t drift() const { return ppm_; }

 private:
  std::int64_t scaled(std::int64_t passed) const;

  std::int64_t since_ = 0;  // the moment of monotonic_ns_
  std::int64_t monotonic_ns_;
  std::int64_t ppm_ = 0;
  Duration wall_minus_monotonic_;
};

}  // namespace holdfast::fibers
