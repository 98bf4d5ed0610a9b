// A range of durations, both ends included: "1ms..5ms", or one duration.
#pragma once

#include "lib/runtime/time.h"
#include "sim/world/rng.h"

namespace holdfast::sim {

struct DurationRange {
  Duration low{}, high{};

  bool fixed() const { return high <= low; }

  // Uniform, whole nanoseconds. One draw, none when there is nothing to choose. REQUIRES: low is not negative
  Duration draw(Rng& rng) const {
    if (fixed()) return low;
    return Duration(static_cast<Duration::rep>(
        rng.between(static_cast<std::uint64_t>(low.count()), static_cast<std::uint64_t>(high.count()))));
  }
};

}  // namespace holdfast::sim
