#include "tools/bench/interval.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <cmath>
#include <random>

namespace holdfast::tools {
namespace {

using Scale = Contrast::Scale;

TEST(Contrast, WelchOfLogarithms) {
  // By hand: means of ln are 0 and ln 2, variances 0.01 each, three values: difference 0.6931, standard error
  // 0.08165, 4 degrees of freedom, t(97.5%) = 2.7764.
  const auto sample = [](double middle) {
    return std::vector<double>{std::exp(middle - 0.1), std::exp(middle), std::exp(middle + 0.1)};
  };
  const Contrast contrast(sample(0), sample(std::log(2)));
  ASSERT_EQ(contrast.scale(), Scale::ratio);
  const Interval at = contrast.interval(0.95);
  EXPECT_NEAR(at.low, 2 * std::exp(-2.7764 * 0.0816497), 1e-3);
  EXPECT_NEAR(at.high, 2 * std::exp(2.7764 * 0.0816497), 1e-3);
  EXPECT_NEAR(contrast.chance(), 0.00106, 5e-5);  // of t = 8.489
}

TEST(Contrast, NewcombeOfShares) {
  // Table II of Newcombe's paper, method 10: 56/70 - 48/80 is 0.0524 to 0.3339, and 0/10 - 0/20 is -0.1611 to
  // 0.2775.
  const auto share = [](int ones, int count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    std::fill(values.begin(), values.begin() + ones, 1.0);
    return values;
  };
  const Contrast some(share(48, 80), share(56, 70));
  ASSERT_EQ(some.scale(), Scale::shares);
  EXPECT_NEAR(some.interval(0.95).low, 0.0524, 1e-4);
  EXPECT_NEAR(some.interval(0.95).high, 0.3339, 1e-4);
  const Contrast none(share(0, 20), share(0, 10));
  EXPECT_NEAR(none.interval(0.95).low, -0.1611, 1e-4);
  EXPECT_NEAR(none.interval(0.95).high, 0.2775, 1e-4);
  EXPECT_EQ(none.chance(), 1);
  EXPECT_LT(Contrast(share(0, 20), share(20, 20)).chance(), 1e-6);
}

TEST(Contrast, WithZerosTheDifferenceOfMeans) {
  const Contrast contrast({0, 1, 2}, {5, 6, 7});
  EXPECT_EQ(contrast.scale(), Scale::difference);
  const Interval at = contrast.interval(0.95);  // 5 -+ 2.7764 * sqrt(2/3)
  EXPECT_NEAR(at.low, 5 - 2.2669, 1e-3);
  EXPECT_NEAR(at.high, 5 + 2.2669, 1e-3);
}

TEST(Contrast, ValuesOfOneBucketScatterByTheBucket) {
  const std::vector<double> one(3, 77430.8), next(3, 77430.8 * 1.0005), far(3, 77430.8 * 1.02);
  EXPECT_GT(Contrast(one, next).chance(), 0.05);
  EXPECT_LT(Contrast(one, far).chance(), 0.001);
}

TEST(Discoveries, AreThoseOfBenjaminiAndHochberg) {
  // The example of their paper: 15 values, at 5% the four smallest.
  const std::vector<double> chances = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                       0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const std::vector<bool> chosen = discoveries(chances, 0.05);
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), true), 4);
  EXPECT_TRUE(chosen[3]);
  EXPECT_NEAR(confidence_of_chosen(4, 15, 0.05), 1 - 0.05 * 4 / 15, 1e-12);
  EXPECT_TRUE(discoveries({}, 0.05).empty());
}

std::vector<double> noisy(std::mt19937_64& random, double middle, double noise, std::size_t rounds) {
  std::normal_distribution<double> normal(std::log(middle), noise);
  std::vector<double> values;
  for (std::size_t i = 0; i < rounds; ++i) values.push_back(std::exp(normal(random)));
  return values;
}

TEST(Contrast, IntervalsCoverAsOftenAsTheySay) {
  std::mt19937_64 random(20);
  for (const std::size_t rounds : {2UL, 3UL, 5UL, 20UL}) {
    int covered = 0;
    constexpr int kTimes = 2000;
    for (int i = 0; i < kTimes; ++i) {
      const Interval at =
          Contrast(noisy(random, 1000, 0.05, rounds), noisy(random, 1100, 0.15, rounds)).interval(0.95);
      covered += at.low <= 1.1 && 1.1 <= at.high ? 1 : 0;
    }
    EXPECT_GT(covered, kTimes * 93 / 100) << rounds;
    EXPECT_LT(covered, kTimes * 99 / 100) << rounds;
  }
}

// What is chosen and what its interval says are never at odds; nor do order and direction matter.
RC_GTEST_PROP(ContrastProperty, ChanceAndIntervalAgree, ()) {
  const auto value = rc::gen::map(rc::gen::inRange(0, 40), [](int v) { return v / 4.0; });
  const auto side = [&] {
    const auto size = *rc::gen::inRange<std::size_t>(2, 8);
    return *rc::gen::container<std::vector<double>>(size, value);
  };
  const std::vector<double> a = side(), b = side();
  const Contrast contrast(a, b), back(b, a);
  const double none = contrast.scale() == Scale::ratio ? 1 : 0;
  RC_ASSERT(std::abs(contrast.chance() - back.chance()) < 1e-6);
  for (const double wrong : {0.5, 0.05, 0.001}) {
    const Interval at = contrast.interval(1 - wrong);
    RC_ASSERT(at.low <= at.high);
    if (std::abs(contrast.chance() - wrong) < 1e-6) continue;
    RC_ASSERT((at.low > none || at.high < none) == (contrast.chance() < wrong));
    const Interval other = back.interval(1 - wrong);
    if (contrast.scale() == Scale::ratio) {
      // Two rounds far apart say nothing: from nearly 0 to more than a double holds.
      const bool agree = std::isinf(other.high) ? at.low < 1e-300 : std::abs(at.low * other.high - 1) < 1e-6;
      RC_ASSERT(agree);
    } else {
      RC_ASSERT(std::abs(at.low + other.high) < 1e-9 * (1 + std::abs(at.low)));
    }
  }
}

}  // namespace
}  // namespace holdfast::tools
