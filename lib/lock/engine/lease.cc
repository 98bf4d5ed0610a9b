#include "lib/lock/engine/lease.h"

#include <algorithm>

namespace holdfast {

Duration lease_margin(Duration lease, const LockOptions& options) {
  if (!options.survivor) return lease_margin(lease);
  const Duration drift = lease / 1'000'000 * options.survivor->drift_ppm;
  return drift + std::max<Duration>(options.survivor->skew, std::chrono::milliseconds(2));
}

MonotonicTime lease_end(MonotonicTime sent_at, Duration lease, const LockOptions& options) {
  return sent_at + lease - lease_margin(lease, options);
}

}  // namespace holdfast
