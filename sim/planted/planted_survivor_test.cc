// Wrong versions of the survivor that a hunt seldom meets, in the stories that they are wrong in; and the
// survivor itself, which bears them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "checker/outcome.h"
#include "sim/explore/explore.h"
#include "sim/planted/planted.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

using Settings = std::vector<Override>;

// On how many of the first seeds two owners have a claim at once.
int violated(const std::string& file, const std::string& kind, int seeds, Settings settings) {
  add_planted_kinds();
  settings.push_back({"lock.kind", kind});
  const Scenario scenario =
      read_scenario(HOLDFAST_SOURCE_DIR "/scenarios/survivor/" + file + ".toml", "", settings);
  int count = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const RunResult run = run_once(scenario, {.seed = static_cast<std::uint64_t>(seed)});
    for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
      const bool exclusion = scenario.expectations[i].check == "lease-exclusion";
      if (exclusion && run.verdicts[i].outcome == checker::Outcome::violated) ++count;
    }
  }
  return count;
}

void expect_broken(const std::string& file, const std::string& version, int seeds = 40,
                   const Settings& settings = {}) {
  EXPECT_GT(violated(file, "planted-survivor-" + version, seeds, settings), 0) << version << " in " << file;
  EXPECT_EQ(violated(file, "survivor", seeds, settings), 0) << file;
}

TEST(PlantedSurvivor, AReplicaThatChangesSidesDoesNotCountAtOnce) { expect_broken("rejoin", "any-age"); }
TEST(PlantedSurvivor, APrimaryThatIsCutOffRenewsNothing) {
  expect_broken("split_brain", "renewals-unacknowledged", 20, {{"workload.think", "11s..12s"}});
}
TEST(PlantedSurvivor, APrimaryThatIsCutOffGrantsNothing) {
  expect_broken("split_brain", "no-acknowledgements");
  expect_broken("split_brain", "majority-of-the-connected");
}
TEST(PlantedSurvivor, AServerThatForgotIsNewInItsRole) {
  const Settings alone = {{"cluster.topology", "single"}, {"cluster.nodes", std::vector<std::string>{"r1"}}};
  expect_broken("restart", "no-quarantine", 20, alone);
}

// Of all ways in which one thing goes otherwise: the first promise that one breaks.
struct Explored {
  std::string broken;
  std::uint64_t executions = 0;
};
Explored explored(const std::string& kind, const std::string& file, std::uint32_t deviations) {
  add_planted_kinds();
  ExploreOptions options{.ground = ground_of_file(HOLDFAST_SOURCE_DIR "/scenarios/explore/" + file + ".toml"),
                         .deviations = deviations,
                         .twice = false};
  options.ground.lock = find_lock_kind(kind);
  set_key(*options.ground.given.find("lock"), "kind", text_value(kind));
  Explored found;
  options.told = [&](const Trial& trial, std::uint64_t) {
    if (found.broken.empty() && !trial.failures.empty()) found.broken = trial.failures.front().promise();
  };
  found.executions = explore(options).search.runs;
  return found;
}

// A primary that is cut off with the holder, before each of its grants and renewals and after it.
TEST(PlantedSurvivor, NoPlaceOfASplitGivesTwoOwners) {
  EXPECT_EQ(explored("survivor", "survivor", 1).broken, "");
  const Explored weaker = explored("planted-survivor-no-acknowledgements", "survivor", 1);
  EXPECT_EQ(weaker.broken, "lease-exclusion/double-grant");
  EXPECT_GT(weaker.executions, 1u) << "it takes the fault at one of its places";
}

}  // namespace
}  // namespace holdfast::sim
