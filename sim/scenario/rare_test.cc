// `[rare]` and `order = "chains"` in scenarios: they change a run, are told, and break no sound lock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::Function;
using checker::Outcome;

Scenario scenario_of(const std::string& order, const std::string& rare, const char* lock = "reentrant") {
  return parse_scenarios(fmt::format(R"(schema = 1
name = "rarely"
[run]
order = "{}"
[lock]
kind = "{}"
lease = "300ms"
[workload]
kind = "critical-section"
clients = 3
rounds = 6
hold = "1ms..200ms"
[network]
latency = "100us..2ms"
[rare]
{}
[[expect]]
check = "lease-exclusion"
[[expect]]
check = "told-in-time"
[[expect]]
check = "progress"
)",
                                     order, lock, rare),
                         "rarely.toml")
      .front();
}

// Reads that bring a part move nothing else: who reads goes on at once.
TEST(RareRuns, EachKeyChangesARunAndBreaksNoSoundLock) {
  std::set<std::uint64_t> traces;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"random", ""},
      {"random", "reads = \"60%\""},
      {"random", "wakeups = \"20%\""},
      {"random", "timers = \"0s..10ms\""},
      {"random", "window = 32"},
      {"chains", ""},
      {"chains", "reads = \"30%\"\nwakeups = \"10%\"\ntimers = \"0s..2ms\"\nwindow = 64"}};
  for (const auto& [order, rare] : cases) {
    for (const char* const lock : {"reentrant", "fair"}) {
      const Scenario scenario = scenario_of(order, rare, lock);
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const RunResult run = run_once(scenario, {.seed = seed});
        traces.insert(run.trace);
        EXPECT_EQ(run.trace, run_once(scenario, {.seed = seed}).trace);
        EXPECT_EQ(run.grants, 18u);
        for (std::size_t i = 0; i < run.verdicts.size(); ++i)
          EXPECT_EQ(run.verdicts[i].outcome, Outcome::holds)
              << order << " " << rare << " " << lock << " seed " << seed << ": " << run.verdicts[i].reason;
      }
    }
  }
  EXPECT_EQ(traces.size(), (cases.size() - 1) * 2 * 6) << "all but reads differ from each other";
}

// Who is put down stands in the history for as long, so that what waits for it is no stall.
TEST(RareRuns, WhoIsPutDownIsTold) {
  const Scenario scenario = scenario_of("chains", "");
  std::size_t told = 0, ended = 0;
  std::set<std::string> chains;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult run = run_once(scenario, {.seed = seed, .keep_history = true});
    for (const Event& event : run.history.events()) {
      if (event.f != Function::fault) continue;
      EXPECT_EQ(run.history.text(event.error), "put-down");
      ++(event.value == 1 ? told : ended);
      chains.insert(std::string(run.history.text(event.key)));
    }
  }
  EXPECT_GT(told, 20u);
  EXPECT_GT(ended, told / 2);
  EXPECT_TRUE(chains.contains("link/c1/r1/request"));
}

TEST(RareRuns, BadValuesAreToldByTheirPlace) {
  const auto told = [](const char* rare) {
    try {
      scenario_of("random", rare);
    } catch (const BadScenario& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  EXPECT_NE(told("wakeups = \"51%\"").find("rarely.toml:16:"), std::string::npos)
      << told("wakeups = \"51%\"");
  EXPECT_NE(told("timers = \"2s\"").find("above a second"), std::string::npos);
  EXPECT_NE(told("window = 0").find("window"), std::string::npos);
  EXPECT_NE(told("read = \"5%\"").find("did you mean"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::sim
