#include "lib/runtime/fibers/process_clock.h"

#include <limits>

#include "lib/runtime/check.h"

namespace holdfast::fibers {
namespace {
__extension__ using Wide = __int128;
constexpr std::int64_t kMillion = 1'000'000;
}  // namespace

std::int64_t ProcessClock::scaled(std::int64_t passed) const {
  return static_cast<std::int64_t>(static_cast<Wide>(passed) * (kMillion + ppm_) / kMillion);
}

std::int64_t ProcessClock::moment_of(MonotonicTime time) const {
  const Wide shown = static_cast<Wide>(time.time_since_epoch().count()) - monotonic_ns_;
  Wide passed = shown;
  if (ppm_ != 0) {
    const Wide rate = kMillion + ppm_;
    passed = shown * kMillion / rate;
    if (shown > 0 && passed * rate / kMillion < shown) ++passed;
  }
  const Wide moment = passed + since_;
  if (moment > std::numeric_limits<std::int64_t>::max()) return std::numeric_limits<std::int64_t>::max();
  if (moment < std::numeric_limits<std::int64_t>::min()) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(moment);
}

void ProcessClock::set_drift(std::int64_t ppm, std::int64_t at) {
  HF_CHECK(ppm > -kMillion, "a clock runs forward");
  monotonic_ns_ = monotonic(at).time_since_epoch().count();
  since_ = at;
  ppm_ = ppm;
}

}  // namespace holdfast::fibers
