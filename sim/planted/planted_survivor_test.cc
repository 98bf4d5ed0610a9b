// Wrong versions of the survivor that a hunt seldom meets, in the stories that they are wrong in; and the
// survivor itself, which bears them.
#include <gtest/gtest.h>

#include <algorithm>
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

// On how many of the first seeds two owners have a claim at once. `story`: a file, or "file/variant".
int violated(const std::string& story, const std::string& kind, int seeds, Settings settings) {
  add_planted_kinds();
  settings.push_back({"lock.kind", kind});
  const std::string file = story.substr(0, story.find('/'));
  const std::string variant = story.substr(std::min(story.size(), file.size() + 1));
  const Scenario scenario =
      read_scenario(HOLDFAST_SOURCE_DIR "/scenarios/survivor/" + file + ".toml", variant, settings);
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

void expect_broken(const std::string& story, const std::string& version, int seeds = 40,
                   const Settings& settings = {}) {
  EXPECT_GT(violated(story, "planted-survivor-" + version, seeds, settings), 0) << version << " in " << story;
  EXPECT_EQ(violated(story, "survivor", seeds, settings), 0) << story;
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

TEST(PlantedSurvivor, AStrangerMakesNoSecondMajority) {
  expect_broken("stranger", "any-server", 10);
  expect_broken("stranger", "mixed-members", 10);
}
TEST(PlantedSurvivor, AClaimEndsBeforeItsRecordMay) {
  expect_broken("clock_beyond_the_skew/without-renewal", "claims-without-margin", 20);
}

// Of all ways in which so many things go otherwise: the first promise that one breaks.
struct Bound {
  std::uint32_t deviations = 1, orders = kAll, times = kAll;
};
constexpr Bound kTwoFaults = {.deviations = 2, .orders = 0, .times = 0};
constexpr Bound kThreeFaults = {.deviations = 3, .orders = 0, .times = 0};

struct Explored {
  std::string broken;
  SearchState search;
};
Explored explored(const std::string& kind, const std::string& file, const Bound& bound = {}) {
  add_planted_kinds();
  ExploreOptions options{.ground = ground_of_file(HOLDFAST_SOURCE_DIR "/scenarios/explore/" + file + ".toml"),
                         .deviations = bound.deviations,
                         .orders = bound.orders,
                         .times = bound.times,
                         .twice = false};
  options.ground.lock = find_lock_kind(kind);
  set_key(*options.ground.given.find("lock"), "kind", text_value(kind));
  const ExploreState state = explore(options);
  return {.broken = state.violation ? state.violation->failure.promise() : "", .search = state.search};
}

void expect_complete(const std::string& file, const Bound& bound = {}) {
  const Explored ours = explored("survivor", file, bound);
  EXPECT_EQ(ours.broken, "") << file;
  EXPECT_TRUE(ours.search.complete) << file;
}

void expect_found(const std::string& version, const std::string& file, const Bound& bound = {}) {
  const Explored weaker = explored("planted-survivor-" + version, file, bound);
  EXPECT_EQ(weaker.broken, "lease-exclusion/double-grant") << version << " in " << file;
  EXPECT_GT(weaker.search.runs, 1u) << version << " takes a fault at one of its places";
}

// A primary that is cut off with the holder, before each of its grants and renewals and after it.
TEST(PlantedSurvivor, NoPlaceOfASplitGivesTwoOwners) {
  expect_complete("survivor");
  expect_found("no-acknowledgements", "survivor");
}

// A replica that changes sides, or comes in the middle of a grant. Both take two faults.
TEST(PlantedSurvivor, NoPlacesOfChangedRolesGiveTwoOwners) {
  expect_complete("survivor_roles");
  for (const char* const version :
       {"any-age", "no-last-look", "all-of-the-connected", "majority-of-the-connected", "bare-wait"})
    expect_found(version, "survivor_roles", kTwoFaults);
  EXPECT_EQ(explored("planted-survivor-no-last-look", "survivor_roles").broken, "") << "one fault is too few";
}

// Who reaches the old primary only: holds on it and renews, or asks it again where its record is.
TEST(PlantedSurvivor, NoPlacesAroundAnIsolatedPrimaryGiveTwoOwners) {
  expect_complete("survivor_isolated", kTwoFaults);
  expect_found("renewals-unacknowledged", "survivor_isolated", kTwoFaults);
  for (const char* const version : {"repeated-acquire-in-quarantine", "mixed-caps"})
    expect_found(version, "survivor_isolated", kThreeFaults);
}

// A server that is none of the members is promoted with one of them behind it, or follows the primary.
TEST(PlantedSurvivor, NoPlacesAroundAStrangerGiveTwoOwners) {
  expect_complete("survivor_stranger");
  for (const char* const version : {"any-server", "mixed-members"})
    expect_found(version, "survivor_stranger");
}

TEST(PlantedSurvivor, NoPlaceAtWhichTheOnlyMemberForgetsGivesTwoOwners) {
  expect_complete("survivor_alone");
  for (const char* const version : {"no-quarantine", "short-quarantine", "knows-no-promotion"})
    expect_found(version, "survivor_alone");
}

TEST(LongPlantedSurvivor, NoFaultsGiveTwoOwners) {
  expect_complete("survivor_roles", kTwoFaults);
  expect_complete("survivor_isolated", kThreeFaults);
  expect_complete("survivor_stranger", kThreeFaults);
}

}  // namespace
}  // namespace holdfast::sim
