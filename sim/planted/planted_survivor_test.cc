// Wrong versions of the survivor that a hunt seldom meets, in the stories that they are wrong in; and the
// survivor itself, which bears them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "checker/outcome.h"
#include "sim/planted/planted.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

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

}  // namespace
}  // namespace holdfast::sim
