// The table of metrics, metrics.json beside this file: what each suite may report, in which unit, and what
// it means. The plot scripts read the same file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::tools {

struct MetricInfo {
  std::string name;     // "hand_off_p50"
  std::string unit;     // "us"; "ratio" has none
  std::string meaning;  // one line
  enum class Better { more, less, neither } better = Better::neither;
};

struct SuiteInfo {
  std::string name, about;
  bool shows_means = false;         // of its rounds, not medians
  std::vector<MetricInfo> metrics;  // in the order of the tables
};

// In the order of the file.
const std::vector<SuiteInfo>& metric_table();

// REQUIRES: both are in the table. A suite that reports anything else is a mistake: std::logic_error.
const SuiteInfo& suite_info(std::string_view suite);
const MetricInfo& metric_info(std::string_view suite, std::string_view metric);

}  // namespace holdfast::tools
