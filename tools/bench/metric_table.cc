#include "tools/bench/metric_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "generated/bench_metrics.h"

namespace holdfast::tools {
namespace {

template <class Row>
const Row& row_of(const std::vector<Row>& rows, std::string_view name, const std::string& what) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  if (found == rows.end()) {
    throw std::logic_error("no " + what + " `" + std::string(name) + "` in tools/bench/metrics.json");
  }
  return *found;
}

}  // namespace

const std::vector<SuiteInfo>& metric_table() {
  static const std::vector<SuiteInfo> kTable = [] {
    std::vector<SuiteInfo> suites;
    const auto document = nlohmann::ordered_json::parse(kMetricTable);
    for (const auto& [name, entry] : document.items()) {
      SuiteInfo& suite = suites.emplace_back();
      suite.name = name;
      suite.about = entry.at("about");
      suite.shows_means = entry.at("shown") == "mean";
      for (const auto& m : entry.at("metrics")) {
        const std::string better = m.value("better", "");
        suite.metrics.push_back({m.at("name"), m.at("unit"), m.at("meaning"),
                                 better == "more"   ? MetricInfo::Better::more
                                 : better == "less" ? MetricInfo::Better::less
                                                    : MetricInfo::Better::neither});
      }
    }
    return suites;
  }();
  return kTable;
}

const SuiteInfo& suite_info(std::string_view suite) { return row_of(metric_table(), suite, "suite"); }

const MetricInfo& metric_info(std::string_view suite, std::string_view metric) {
  return row_of(suite_info(suite).metrics, metric, "metric of " + std::string(suite));
}

}  // namespace holdfast::tools
