#include "sim/scenario/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "lib/testing/folders.h"
#include "sim/client/lock_kind.h"
#include "sim/scenario/judge.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

std::vector<Scenario> shipped(const std::string& name) {
  return read_scenarios(holdfast::testing::source_path("scenarios/" + name + ".toml"));
}

RunResult run_embedded(const Scenario& scenario, std::uint64_t seed) {
  return run_once(scenario, {.embedded = true, .seed = seed, .keep_history = true});
}

TEST(Run, OneSeedOneTrace) {
  const Scenario scenario = shipped("primary_failover_double_grant").front();
  const RunResult first = run_embedded(scenario, 7);
  EXPECT_EQ(run_embedded(scenario, 7).trace, first.trace);
  EXPECT_NE(run_embedded(scenario, 8).trace, first.trace);
}

// Takes another time in every run, as a fault that looked at a clock of the machine would.
class ForgetfulFault final : public Fault {
 public:
  Healing act(FaultTargets& targets) override {
    static int runs = 0;
    targets.client("c1")->pause();
    targets.world.harness().runtime().sleep_for(std::chrono::milliseconds(50 * ++runs));
    targets.client("c1")->resume();
    return {};
  }
};

TEST(Run, PlantedNondeterminismShowsInTheTrace) {
  Scenario scenario = shipped("happy_path").front();
  const FaultKind planted{
      .name = "planted", .about = "", .keys = {}, .make = [](const FaultConfig&) -> std::unique_ptr<Fault> {
        return std::make_unique<ForgetfulFault>();
      }};
  FaultPlan plan;
  plan.kind = &planted;
  plan.config.id = "planted";
  plan.trigger.kind = Trigger::Kind::event;
  plan.trigger.event = RunEventKind::lock_granted;
  scenario.faults.push_back(plan);
  EXPECT_NE(run_embedded(scenario, 7).trace, run_embedded(scenario, 7).trace);
}

TEST(Run, FaultsActAndHealInTheOrderOfTheStory) {
  const RunResult run = run_embedded(shipped("primary_failover_double_grant").front(), 7);
  std::vector<std::string> story;
  for (const checker::Event& event : run.history.events()) {
    if (event.f == checker::Function::mark) story.emplace_back(run.history.text(event.key));
  }
  const auto at = [&](const std::string& mark) {
    return std::find(story.begin(), story.end(), mark) - story.begin();
  };
  EXPECT_LT(at("fault.lag"), at("lock.granted"));
  EXPECT_LT(at("lock.granted"), at("fault.kill-primary"));
  EXPECT_LT(at("fault.kill-primary"), at("fault.promote"));
  EXPECT_LT(at("fault.promote"), at("granted-after-promotion"));
  EXPECT_LT(at("granted-after-promotion"), static_cast<std::ptrdiff_t>(story.size()));
}

TEST(Run, OverTlsOneSeedIsOneTraceOfItsOwn) {
  const std::vector<Scenario> both = shipped("tls");
  ASSERT_TRUE(both[0].cluster.tls && !both[1].cluster.tls);
  const RunResult encrypted = run_embedded(both[0], 7), plain = run_embedded(both[1], 7);
  EXPECT_EQ(run_embedded(both[0], 7).trace, encrypted.trace);
  EXPECT_NE(encrypted.trace, plain.trace) << "nobody speaks TLS";
}

TEST(Run, ACapOnTimeIsSaid) {
  Scenario scenario = shipped("happy_path").front();
  scenario.time = std::chrono::milliseconds(100);
  const RunResult run = run_embedded(scenario, 1);
  EXPECT_TRUE(run.capped);
  EXPECT_LE(run.length_ns, 101'000'000);
}

// Every variant of one shipped file, a few of its seeds.
void expect_met(const std::vector<Scenario>& variants, std::uint64_t seeds) {
  for (const Scenario& scenario : variants) {
    Judge judge(scenario);
    const std::uint64_t first = scenario.seeds.at(0);
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) judge.add(run_embedded(scenario, seed));
    EXPECT_EQ(judge.result(), Tally::Result::met) << scenario.title();
    for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
      const Tally& tally = judge.tallies()[i];
      const Tally::Result result = tally.result(scenario.expectations[i]);
      EXPECT_TRUE(result == Tally::Result::met || result == Tally::Result::too_few)
          << scenario.title() << ": " << describe(scenario.expectations[i]) << ": " << tally.first_miss
          << tally.first_unknown;
    }
  }
}

// Every file of that folder, which has so many at least.
void expect_folder_met(const std::string& folder, std::uint64_t seeds, int at_least = 4) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(holdfast::testing::source_path(folder))) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    expect_met(read_scenarios(entry.path().string()), seeds);
  }
  EXPECT_GE(files, at_least) << folder;
}

TEST(Run, ShippedScenariosMeetTheirExpectations) { expect_folder_met("scenarios", 4); }
TEST(Run, HistoricScenariosMeetTheirExpectations) { expect_folder_met("scenarios/historic", 3); }
TEST(Run, ArticleScenariosMeetTheirExpectations) { expect_folder_met("scenarios/articles", 2, 5); }
TEST(Run, MuseumScenariosMeetTheirExpectations) { expect_folder_met("scenarios/museum", 3, 40); }
TEST(Run, ExploredScenariosMeetTheirExpectations) { expect_folder_met("scenarios/explore", 20, 5); }
TEST(Run, SurvivorScenariosMeetTheirExpectations) { expect_folder_met("scenarios/survivor", 5, 5); }
TEST(Run, NeedsScenariosMeetTheirExpectations) { expect_folder_met("scenarios/articles/needs", 2, 3); }

// The table of results/articles.md says "no" of a lock that this file has no variant for.
TEST(Run, ALockThatIsMissingAmongTheReentrantOnesCannotBeEnteredTwice) {
  const std::string file = holdfast::testing::source_path("scenarios/articles/needs/reentry.toml");
  std::set<std::string> there;
  for (const Scenario& scenario : read_scenarios(file)) there.insert(scenario.workload.lock);
  int refused = 0;
  for (const LockKind& kind : all_lock_kinds()) {
    const std::string name(kind.name);
    if (kind.latch || there.contains(name)) continue;
    try {
      read_scenario(file, "", {{"lock.kind", name}});
      ADD_FAILURE() << name << " can be entered twice, expected a variant of its own";
    } catch (const BadScenario& problem) {
      EXPECT_NE(problem.message().find("cannot be taken inside itself"), std::string::npos)
          << problem.message();
      ++refused;
    }
  }
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace holdfast::sim
