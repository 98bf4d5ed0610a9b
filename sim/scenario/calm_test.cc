// `[run] calm`: the faults are over, most is healed, a few nodes stay broken, and somebody gets the lock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "checker/history/effects.h"
#include "checker/history/liveness.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::Function;
using checker::Outcome;

Scenario scenario_of(const std::string& run, const std::string& cluster, const std::string& lock,
                     const std::string& faults) {
  return parse_scenarios(fmt::format(R"(schema = 1
name = "phases"
[run]
{}
[cluster]
{}
[lock]
kind = "{}"
lease = "1s"
[workload]
kind = "critical-section"
clients = 3
rounds = 8
hold = "100ms"
[network]
latency = "100us..1ms"
{}
[[expect]]
check = "progress"
[[expect]]
check = "reached"
marks = ["liveness"]
)",
                                     run, cluster, lock, faults),
                         "phases.toml")
      .front();
}

constexpr const char* kThree = "topology = \"independent\"\nnodes = [\"r1\", \"r2\", \"r3\"]";

// When each node was healed by the director, in nanoseconds; and the mark.
std::map<std::string, std::int64_t> healed(const RunResult& run) {
  std::map<std::string, std::int64_t> at;
  for (const Event& event : run.history.events()) {
    if (event.f == Function::mark && run.history.text(event.key) == checker::kLiveness)
      at[std::string(checker::kLiveness)] = event.time_ns;
    if (event.f == Function::fault && event.value == 0)
      at[std::string(run.history.text(event.key))] = event.time_ns;
  }
  return at;
}

TEST(Calm, MostIsHealedAndAFewNodesStayBroken) {
  const Scenario scenario =
      scenario_of("time = \"60s\"\ncalm = \"2s\"\nstay_broken = [\"r3\"]", kThree, "redlock", R"(
[[fault]]
id = "dead"
kind = "crash"
node = "r3"
at = "100ms"
[[fault]]
id = "cut-off"
kind = "partition"
between = ["r2"]
for = "30s"
at = "100ms"
[[fault]]
id = "stopped"
kind = "pause-server"
node = "r1"
for = "30s"
at = "200ms"
[[fault]]
id = "never"
kind = "crash"
node = "r1"
at = "10s")");
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const RunResult run = run_once(scenario, {.seed = seed, .keep_history = true});
    const auto at = healed(run);
    ASSERT_TRUE(at.contains("liveness"));
    EXPECT_FALSE(at.contains("dead"));
    EXPECT_EQ(at.at("cut-off"), at.at("liveness"));
    EXPECT_EQ(at.at("stopped"), at.at("liveness"));
    for (const Event& event : run.history.events())
      EXPECT_NE(run.history.text(event.key), "never") << "no fault acts any more";
    for (const checker::Verdict& verdict : run.verdicts)
      EXPECT_EQ(verdict.outcome, Outcome::holds) << "seed " << seed << ": " << verdict.reason;
    EXPECT_EQ(run.trace, run_once(scenario, {.seed = seed}).trace);
  }
}

// What nobody would have healed is healed then, too.
TEST(Calm, WhatLastsForGoodIsHealed) {
  const Scenario scenario = scenario_of(
      "time = \"60s\"\ncalm = \"1s\"", "topology = \"single\"\npersistence = \"aof-always\"", "reentrant", R"(
[[fault]]
id = "dead"
kind = "crash"
node = "r1"
at = "100ms"
[[fault]]
id = "slow"
kind = "delay"
delay = "300ms"
at = "100ms")");
  const RunResult run = run_once(scenario, {.seed = 1, .keep_history = true});
  const auto at = healed(run);
  EXPECT_TRUE(at.contains("dead"));
  EXPECT_TRUE(at.contains("slow"));
  for (const checker::Verdict& verdict : run.verdicts)
    EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict.reason;
  EXPECT_EQ(run.grants, 24u);
}

// A server that stands still is asked for it, and answers when calm has come.
TEST(Calm, WhatIsStillBeginningIsHealedWhenItHasBegun) {
  const Scenario scenario =
      scenario_of("time = \"60s\"\ncalm = \"1s\"", "topology = \"single\"", "reentrant", R"(
[[fault]]
id = "stopped"
kind = "pause-server"
node = "r1"
at = "100ms"
for = "5s"
[[fault]]
id = "full"
kind = "memory-full"
node = "r1"
at = "150ms")");
  const RunResult run = run_once(scenario, {.seed = 1, .keep_history = true});
  EXPECT_TRUE(healed(run).contains("full"));
  for (const checker::Verdict& verdict : run.verdicts)
    EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict.reason;
  EXPECT_EQ(run.grants, 24u);
}

TEST(Calm, BadValuesAreToldByTheirPlace) {
  const auto told = [](const std::string& run) {
    try {
      scenario_of(run, kThree, "redlock", "");
    } catch (const BadScenario& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  EXPECT_NE(told("time = \"5s\"\ncalm = \"5s\"").find("phases.toml:5:"), std::string::npos);
  EXPECT_NE(told("stay_broken = [\"r1\"]").find("goes with `calm`"), std::string::npos);
  EXPECT_NE(told("calm = \"1s\"\nstay_broken = [\"r1\", \"r2\"]").find("half of the nodes"),
            std::string::npos);
  EXPECT_NE(told("calm = \"1s\"\nstay_broken = [\"r4\"]").find("r4"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::sim
