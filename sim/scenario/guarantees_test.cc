// Every file of scenarios/guarantees does what it says, for each of its locks: the table in lib/README.md is
// made of what they say (tools/house/guarantees.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/testing/folders.h"
#include "sim/scenario/judge.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

std::vector<std::string> files() {
  std::vector<std::string> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(holdfast::testing::source_path("scenarios/guarantees"))) {
    if (entry.path().extension() == ".toml") found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// What is expected of a share of the seeds needs some.
constexpr std::uint64_t kSeedsForAShare = 40;

void expect_met(const std::string& file, std::uint64_t first, std::uint64_t last) {
  for (const Scenario& scenario :
       read_scenarios(holdfast::testing::source_path("scenarios/guarantees/" + file + ".toml"))) {
    Judge judge(scenario);
    const bool some = std::any_of(scenario.expectations.begin(), scenario.expectations.end(),
                                  [](const Expectation& each) { return each.seeds.number != 100; });
    const std::uint64_t end = some ? std::max<std::uint64_t>(last, kSeedsForAShare) : last;
    for (std::uint64_t seed = first; seed <= end; ++seed) judge.add(run_once(scenario, {.seed = seed}));
    for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
      const Tally& tally = judge.tallies()[i];
      if (tally.result(scenario.expectations[i]) == Tally::Result::met) continue;
      ADD_FAILURE() << scenario.title() << ": " << describe(scenario.expectations[i]) << ", but on "
                    << tally.matching << " of " << tally.runs << " only; seed "
                    << (tally.misses.empty() ? 0 : tally.misses.front()) << ": " << tally.first_miss
                    << tally.first_unknown;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

class Guarantees : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Embedded, Guarantees, ::testing::ValuesIn(files()), name_of);
TEST_P(Guarantees, RunsAreWhatTheTableSays) { expect_met(GetParam(), 1, 5); }

class LongGuarantees : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(LongEmbedded, LongGuarantees, ::testing::ValuesIn(files()), name_of);
TEST_P(LongGuarantees, OnAThousandSeeds) { expect_met(GetParam(), 1, 1000); }

}  // namespace
}  // namespace holdfast::sim
