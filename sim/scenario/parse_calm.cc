#include "sim/scenario/parse_calm.h"

#include <algorithm>

#include "sim/scenario/parse_setting.h"
#include "sim/scenario/table_reader.h"

namespace holdfast::sim {

void parse_calm(const Value& run, Scenario& scenario) {
  TableReader reader(run, "[run]");
  scenario.calm = reader.duration("calm");
  if (scenario.calm && *scenario.calm >= scenario.time)
    throw BadScenario(reader.at("calm"), "`calm` comes after the end of the run, expected less than `time`");
  scenario.stay_broken = reader.texts("stay_broken").value_or(std::vector<std::string>{});
  if (scenario.stay_broken.empty()) return;
  const Position at = reader.at("stay_broken");
  if (!scenario.calm)
    throw BadScenario(at, "`stay_broken` goes with `calm`, expected the time at which the others are healed");
  const ClusterOptions& cluster = scenario.cluster;
  const auto fewer_than_half = [&](const std::vector<std::string>& of) {
    const auto broken = std::count_if(of.begin(), of.end(), [&](const std::string& name) {
      const auto& all = scenario.stay_broken;
      return std::find(all.begin(), all.end(), name) != all.end();
    });
    return 2 * static_cast<std::size_t>(broken) < of.size();
  };
  std::vector<std::string> known = cluster.nodes;
  const bool sentinels = cluster.topology == Topology::sentinel;
  if (sentinels) known.insert(known.end(), cluster.sentinels.names.begin(), cluster.sentinels.names.end());
  for (const std::string& name : scenario.stay_broken) check_name(name, known, at, "stay_broken");
  if (!fewer_than_half(cluster.nodes) || (sentinels && !fewer_than_half(cluster.sentinels.names)))
    throw BadScenario(
        at, "`stay_broken` has half of the nodes or more, expected fewer: nothing goes on without most");
}

}  // namespace holdfast::sim
