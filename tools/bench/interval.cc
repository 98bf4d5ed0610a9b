#include "tools/bench/interval.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "lib/runtime/check.h"

namespace holdfast::tools {
namespace {

constexpr double kResolution = 1.0 / 1024;  // of a value that a histogram has seen

bool both_are(const std::vector<double>& a, const std::vector<double>& b, bool (*is)(double)) {
  return std::all_of(a.begin(), a.end(), is) && std::all_of(b.begin(), b.end(), is);
}

// The score interval of a share (E. B. Wilson, 1927).
Interval score_interval(double share, double count, double z) {
  const double middle = share + z * z / (2 * count), under = 1 + z * z / count;
  const double half = z * std::sqrt(share * (1 - share) / count + z * z / (4 * count * count));
  return {std::max(0.0, (middle - half) / under), std::min(1.0, (middle + half) / under)};
}

double t_quantile(double freedom, double confidence) {
  const boost::math::students_t_distribution<double> t(freedom);
  return boost::math::quantile(boost::math::complement(t, (1 - confidence) / 2));
}

}  // namespace

Contrast::Side Contrast::side_of(const std::vector<double>& values, double floor) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::max(squares / (count - 1), floor) / count, values.size()};
}

Contrast::Contrast(const std::vector<double>& old_rounds, const std::vector<double>& new_rounds) {
  HF_CHECK(old_rounds.size() >= 2 && new_rounds.size() >= 2, "nothing scatters in one round");
  if (both_are(old_rounds, new_rounds, [](double v) { return v == 0 || v == 1; })) {
    scale_ = Scale::shares;
    old_ = side_of(old_rounds, 0);
    new_ = side_of(new_rounds, 0);
    return;
  }
  const double floor = kResolution * kResolution / 12;  // of values spread evenly over a bucket
  if (both_are(old_rounds, new_rounds, [](double v) { return v > 0; })) {
    scale_ = Scale::ratio;
    const auto logs = [](std::vector<double> values) {
      for (double& value : values) value = std::log(value);
      return values;
    };
    old_ = side_of(logs(old_rounds), floor);
    new_ = side_of(logs(new_rounds), floor);
  } else {
    scale_ = Scale::difference;
    double most = 0;
    for (const auto* rounds : {&old_rounds, &new_rounds}) {
      for (const double value : *rounds) most = std::max(most, std::abs(value));
    }
    old_ = side_of(old_rounds, floor * most * most);
    new_ = side_of(new_rounds, floor * most * most);
  }
  const double both = old_.variance + new_.variance;
  const auto part = [](const Side& side) {
    return side.variance * side.variance / static_cast<double>(side.count - 1);
  };
  freedom_ = both * both / (part(old_) + part(new_));
}

Interval Contrast::interval(double confidence) const {
  const double difference = new_.mean - old_.mean;
  if (scale_ == Scale::shares) {
    const double z =
        boost::math::quantile(boost::math::complement(boost::math::normal(), (1 - confidence) / 2));
    const Interval a = score_interval(old_.mean, static_cast<double>(old_.count), z);
    const Interval b = score_interval(new_.mean, static_cast<double>(new_.count), z);
    return {difference - std::hypot(new_.mean - b.low, a.high - old_.mean),
            difference + std::hypot(b.high - new_.mean, old_.mean - a.low)};
  }
  const double half = t_quantile(freedom_, confidence) * std::sqrt(old_.variance + new_.variance);
  const Interval plain{difference - half, difference + half};
  return scale_ == Scale::ratio ? Interval{std::exp(plain.low), std::exp(plain.high)} : plain;
}

bool Contrast::may_be_none(double confidence) const {
  const Interval at = interval(confidence);
  return at.low <= 0 && at.high >= 0;
}

double Contrast::chance() const {
  const double difference = new_.mean - old_.mean;
  if (difference == 0) return 1;
  if (scale_ != Scale::shares) {
    const boost::math::students_t_distribution<double> t(freedom_);
    const double size = std::abs(difference) / std::sqrt(old_.variance + new_.variance);
    return 2 * boost::math::cdf(boost::math::complement(t, size));
  }
  double low = 0, high = 1 - 1e-12;  // the confidence at which the interval just reaches 0
  if (!may_be_none(high)) return 1 - high;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (may_be_none(middle) ? high : low) = middle;
  }
  return 1 - high;
}

std::vector<bool> discoveries(const std::vector<double>& chances, double wrong) {
  std::vector<double> sorted = chances;
  std::sort(sorted.begin(), sorted.end());
  double limit = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] <= wrong * static_cast<double>(i + 1) / static_cast<double>(sorted.size()))
      limit = sorted[i];
  }
  std::vector<bool> chosen;
  for (const double chance : chances) chosen.push_back(chance <= limit);
  return chosen;
}

double confidence_of_chosen(std::size_t chosen, std::size_t all, double wrong) {
  HF_CHECK(chosen <= all, "chosen out of all");
  if (chosen == 0) return 1 - wrong;
  return 1 - wrong * static_cast<double>(chosen) / static_cast<double>(all);
}

}  // namespace holdfast::tools
