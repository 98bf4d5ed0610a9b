// Two samples of one quantity: how much of a difference their scatter leaves.
//
// A sample is the value of each round. Which method:
//   positive values   Welch's t interval of the mean of logarithms: the ratio of geometric means (a
//                     difference of 5% is 5% whether a round makes ten pairs or ten thousand)
//   zeros and ones    Newcombe's hybrid score interval of the difference of two shares (R. G. Newcombe,
//                     "Interval estimation for the difference between independent proportions", 1998,
//                     method 10), which can be asked about 0 of 4 and 4 of 4
//   anything else     Welch's t interval of the difference of means
// Welch: B. L. Welch, "The generalization of Student's problem when several different population variances
// are involved", 1947. Values that are known to a thousandth (histogram.h) never scatter less than that.
#pragma once

#include <cstddef>
#include <vector>

namespace holdfast::tools {

struct Interval {
  double low = 0, high = 0;
};

class Contrast {
 public:
  enum class Scale { ratio, shares, difference };

  // REQUIRES: two values or more on each side.
  Contrast(const std::vector<double>& old_rounds, const std::vector<double>& new_rounds);

  Scale scale() const { return scale_; }
  // How often chance alone makes at least this difference, 0..1.
  double chance() const;
  // Where the true one lies with this confidence, 0 < confidence < 1: new by old (no difference is 1), or
  // new minus old (no difference is 0).
  Interval interval(double confidence) const;

 private:
  struct Side {
    double mean = 0, variance = 0;  // of the mean
    std::size_t count = 0;
  };
  static Side side_of(const std::vector<double>& values, double floor);
  bool may_be_none(double confidence) const;

  Scale scale_;
  Side old_, new_;
  double freedom_ = 1;  // degrees of it
};

// Which of many differences count, so that of those that are said to be there at most the part `wrong` is
// expected to be chance: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", 1995.
std::vector<bool> discoveries(const std::vector<double>& chances, double wrong);

// The confidence with which the intervals of the `chosen` out of `all` are to be shown, so that they cover
// as often as one that nobody chose: Y. Benjamini and D. Yekutieli, "False discovery rate-adjusted multiple
// confidence intervals for selected parameters", 2005.
double confidence_of_chosen(std::size_t chosen, std::size_t all, double wrong);

}  // namespace holdfast::tools
