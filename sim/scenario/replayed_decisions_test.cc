// Everything that a run draws is a decision: what was drawn gives the same run again, under any seed. And one
// decision that differs moves no other.
#include <gtest/gtest.h>

#include <string>

#include "lib/testing/folders.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

Changes all_of(const Decisions& decisions) {
  Changes changes;
  for (const auto& [stream, drawn] : decisions.drawn()) {
    for (std::size_t i = 0; i < drawn.size(); ++i) changes.fixed[stream][i] = drawn[i].value;
  }
  return changes;
}

std::string told(const checker::History& history) {
  std::string text;
  for (const checker::Event& event : history.events()) {
    text += std::to_string(event.time_ns) + ' ' + std::string(to_string(event.f)) + ' ' +
            std::string(to_string(event.type));
    for (const checker::Symbol symbol :
         {event.process, event.key, event.id, event.owner, event.node, event.error})
      text += ' ' + std::string(history.text(symbol));
    text += '\n';
  }
  return text;
}

void expect_replayed(const Scenario& scenario) {
  Decisions first({}, /*keep=*/true);
  const RunResult run = run_once(scenario, {.seed = 5, .keep_history = true, .decisions = &first});
  EXPECT_EQ(run.trace, run_once(scenario, {.seed = 5}).trace) << "writing it down changes nothing";
  Decisions again(all_of(first));
  const RunResult replayed = run_once(scenario, {.seed = 6, .keep_history = true, .decisions = &again});
  EXPECT_EQ(told(replayed.history), told(run.history)) << scenario.title();
}

TEST(ReplayedDecisions, AreTheRunUnderAnySeed) {
  for (const char* const file : {"storm", "primary_failover_double_grant", "overlapping_faults", "fork",
                                 "cluster_election", "sentinel_failover"}) {
    const std::string path = testing::source_path("scenarios/") + file + ".toml";
    for (const Scenario& scenario : read_scenarios(path)) expect_replayed(scenario);
  }
}

// One more latency: the other links, the clients and the faults draw what they drew.
TEST(ReplayedDecisions, OneThatDiffersMovesNoOther) {
  const Scenario scenario = read_scenario(testing::source_path("scenarios/storm.toml"), "", {});
  Decisions first({}, /*keep=*/true);
  run_once(scenario, {.seed = 5, .decisions = &first});
  const std::string link = "network/c1/r1/request";
  ASSERT_TRUE(first.drawn().contains(link));
  const std::vector<Drawn>& drawn = first.drawn().at(link);
  ASSERT_GT(drawn.size(), 3u);
  const std::uint64_t other = drawn[2].value == drawn[2].low ? drawn[2].high : drawn[2].low;
  Decisions second({.fixed = {{link, {{2, other}}}}}, /*keep=*/true);
  run_once(scenario, {.seed = 5, .decisions = &second});
  std::size_t compared = 0;
  for (const auto& [stream, before] : first.drawn()) {
    if (stream == "order" || !second.drawn().contains(stream)) continue;  // who was ready may differ
    const std::vector<Drawn>& after = second.drawn().at(stream);
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      if (before[i].low != after[i].low || before[i].high != after[i].high) break;  // asked something else
      if (stream == link && i == 2) continue;
      EXPECT_EQ(before[i].value, after[i].value) << stream << " " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 200u);
}

}  // namespace
}  // namespace holdfast::sim
