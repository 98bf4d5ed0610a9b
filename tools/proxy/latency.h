// Latency: how long something took, in buckets an eighth of a power of two wide: small enough to be sent with
// every look at the traffic, and two of them can be subtracted, so that each who looks has its own interval.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>

namespace holdfast::tools {

class Latency {
 public:
  // Below zero counts as zero.
  void record(std::int64_t us) {
    ++counts_[bucket_of(static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0)))];
  }
  void add(std::uint64_t bucket, std::uint64_t count) { counts_[bucket] += count; }

  const std::map<std::uint64_t, std::uint64_t>& counts() const { return counts_; }  // by bucket
  std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const auto& [bucket, count] : counts_) all += count;
    return all;
  }
  // What came since `before`, an earlier state of the same.
  Latency since(const Latency& before) const {
    Latency rest;
    for (const auto& [bucket, count] : counts_) {
      const auto was = before.counts_.find(bucket);
      const std::uint64_t old = was == before.counts_.end() ? 0 : was->second;
      if (count > old) rest.counts_[bucket] = count - old;
    }
    return rest;
  }
  // The part `q` (0..1) of all took no longer, in microseconds: an upper bound, at most an eighth too large.
  // 0: nothing was recorded.
  std::uint64_t quantile_us(double q) const {
    const double wanted = q * static_cast<double>(count());
    std::uint64_t seen = 0, last = 0;
    for (const auto& [bucket, count] : counts_) {
      seen += count;
      last = most_of(bucket);
      if (static_cast<double>(seen) >= wanted) break;
    }
    return last;
  }

 private:
  static constexpr std::uint64_t kSteps = 8;
  static std::uint64_t bucket_of(std::uint64_t us) {
    if (us < 2 * kSteps) return us;
    const auto shift = static_cast<unsigned>(std::bit_width(us)) - 4;  // at least 1
    return (shift + 1) * kSteps + ((us >> shift) - kSteps);
  }
  static std::uint64_t most_of(std::uint64_t bucket) {
    if (bucket < 2 * kSteps) return bucket;
    const std::uint64_t shift = std::min<std::uint64_t>(bucket / kSteps - 1, 58);
    return ((kSteps + bucket % kSteps + 1) << shift) - 1;
  }

  std::map<std::uint64_t, std::uint64_t> counts_;
};

}  // namespace holdfast::tools
