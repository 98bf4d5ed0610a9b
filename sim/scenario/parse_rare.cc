#include "sim/scenario/parse_rare.h"

#include <chrono>

#include "sim/scenario/table_reader.h"

namespace holdfast::sim {

RareOptions parse_rare(const Value& table) {
  TableReader reader(table, "[rare]");
  RareOptions rare;
  rare.reads_percent = static_cast<std::uint64_t>(reader.percent("reads").value_or(0));
  rare.wakeups_percent = static_cast<std::uint64_t>(reader.percent("wakeups").value_or(0));
  rare.timers = reader.duration_range("timers").value_or(rare.timers);
  rare.window = static_cast<std::size_t>(reader.integer("window", 1, 262'144).value_or(0));
  reader.finish();
  // A wait that always ended early would be no wait at all.
  if (rare.wakeups_percent > 50)
    throw BadScenario(reader.at("wakeups"), "`wakeups` is above half of all waits, expected such as \"5%\"");
  if (rare.timers.high > std::chrono::seconds(1))
    throw BadScenario(reader.at("timers"), "`timers` is above a second, expected such as \"0ms..5ms\"");
  return rare;
}

}  // namespace holdfast::sim
