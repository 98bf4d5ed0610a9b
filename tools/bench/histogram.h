// Histogram: log-linear, three significant digits.
//
// Values up to 2047 have a bucket each; beyond, every power of two is cut into 1024 buckets of equal width,
// so a value is known to within a thousandth of itself, whatever its size. record() costs a few instructions;
// memory grows with the largest value seen (4 KiB a power of two). Values are what the caller says, here
// nanoseconds.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::tools {

class Histogram {
 public:
  // Below zero counts as zero.
  void record(std::int64_t value) {
    const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
    const std::size_t i = index(v);
    if (i >= counts_.size()) counts_.resize(i + 1);
    ++counts_[i];
    ++count_;
    sum_ += static_cast<double>(v);
    max_ = std::max(max_, v);
  }

  void merge(const Histogram& other) {
    if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    max_ = std::max(max_, other.max_);
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }  // exact
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  // The smallest recorded value that at least the part `q` (0..1) of all values does not exceed, to three
  // digits; 0 when nothing was recorded.
  std::uint64_t quantile(double q) const {
    if (count_ == 0) return 0;
    const double wanted = q * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (counts_[i] > 0 && static_cast<double>(seen) >= wanted) return std::min(middle(i), max_);
    }
    return max_;
  }

 private:
  static constexpr std::uint64_t kLinear = 2048, kSteps = 1024;

  static std::size_t index(std::uint64_t v) {
    if (v < kLinear) return v;
    const auto shift = static_cast<unsigned>(std::bit_width(v)) - 11;  // at least 1
    return kLinear + (shift - 1) * kSteps + ((v >> shift) - kSteps);
  }
  static std::uint64_t middle(std::size_t i) {
    if (i < kLinear) return i;
    const std::size_t shift = (i - kLinear) / kSteps + 1;
    const std::uint64_t low = (kSteps + (i - kLinear) % kSteps) << shift;
    return low + (std::uint64_t{1} << shift) / 2;
  }

  std::vector<std::uint32_t> counts_;
  std::uint64_t count_ = 0, max_ = 0;
  double sum_ = 0;
};

}  // namespace holdfast::tools
