#include "tools/bench/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace holdfast::tools {
namespace {

TEST(Histogram, NothingRecordedIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.99), 0u);
  EXPECT_EQ(histogram.mean(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::int64_t v = 1; v <= 1000; ++v) histogram.record(v);
  EXPECT_EQ(histogram.quantile(0.5), 500u);
  EXPECT_EQ(histogram.quantile(0.999), 999u);
  EXPECT_EQ(histogram.quantile(1), 1000u);
  EXPECT_EQ(histogram.max(), 1000u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 500.5);
}

TEST(Histogram, QuantilesAgreeWithSortedValuesToThreeDigits) {
  std::mt19937_64 random(7);
  for (const double decades : {3.0, 6.0, 12.0, 18.0}) {
    Histogram histogram;
    std::vector<std::int64_t> values;
    for (int i = 0; i < 20'000; ++i) {
      const double exponent = std::uniform_real_distribution<>(0, decades)(random);
      values.push_back(static_cast<std::int64_t>(std::pow(10.0, exponent)));
      histogram.record(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999}) {
      const auto at = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size()))) - 1;
      const auto exact = static_cast<double>(values[at]);
      EXPECT_NEAR(static_cast<double>(histogram.quantile(q)), exact, exact / 1000) << q << " " << decades;
    }
  }
}

TEST(Histogram, MergedIsAsIfRecordedTogether) {
  Histogram a, b, both;
  for (std::int64_t v = 1; v < 3'000'000; v = v * 3 + 1) {
    (v % 2 == 0 ? a : b).record(v);
    both.record(v);
  }
  a.record(-5);
  both.record(-5);
  a.merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.max(), both.max());
  for (const double q : {0.0, 0.2, 0.5, 0.8, 1.0}) EXPECT_EQ(a.quantile(q), both.quantile(q));
}

TEST(Histogram, TheLargestValueFits) {
  Histogram histogram;
  histogram.record(INT64_MAX);
  EXPECT_EQ(histogram.max(), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_GE(histogram.quantile(0.5), static_cast<std::uint64_t>(INT64_MAX) / 1001 * 1000);
}

}  // namespace
}  // namespace holdfast::tools
