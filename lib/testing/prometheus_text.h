// Reads Prometheus' text format 0.0.4 by its rules, for tests of what is written.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::testing {

// What is wrong, and in which line.
struct BadPrometheusText : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PrometheusText {
  std::map<std::string, std::string> types;  // of each family
  // "name{a="1",b="x"}", labels sorted and unescaped: the value.
  std::map<std::string, double> samples;

  // 0: there is no such sample.
  double operator[](const std::string& sample) const {
    const auto found = samples.find(sample);
    return found == samples.end() ? 0 : found->second;
  }
};

// Throws BadPrometheusText: a line that is none; a sample outside its family, or twice; a family twice, or
// without HELP and TYPE before its samples; a counter whose name does not end in _total; a bucket below the
// one before it; a histogram without "+Inf", or whose _count is another one.
PrometheusText parse_prometheus(std::string_view text);

}  // namespace holdfast::testing
