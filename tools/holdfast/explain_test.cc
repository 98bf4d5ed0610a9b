// What is said of an expectation that was not met.
#include "tools/holdfast/explain.h"

#include <gtest/gtest.h>

namespace holdfast::tools {
namespace {

using checker::Outcome;

sim::RunResult run_of(std::uint64_t seed, Outcome outcome, const std::vector<std::string>& kinds = {}) {
  sim::RunResult run;
  run.seed = seed;
  checker::Verdict verdict;
  verdict.outcome = outcome;
  verdict.reason = "reason of seed " + std::to_string(seed);
  for (const std::string& kind : kinds) {
    verdict.witnesses.emplace_back();
    verdict.witnesses.back().kind = kind;
  }
  run.verdicts.push_back(verdict);
  return run;
}

class Explain : public ::testing::Test {
 protected:
  void expect(sim::Expectation expectation) {
    scenario_.expectations = {std::move(expectation)};
    judge_ = std::make_unique<sim::Judge>(scenario_);
  }
  const sim::Expectation& expectation() const { return scenario_.expectations.front(); }
  const sim::Tally& tally() const { return judge_->tallies().front(); }
  std::string text() const { return explain(expectation(), tally()); }

  sim::Scenario scenario_;
  std::unique_ptr<sim::Judge> judge_;
};

TEST_F(Explain, NamesTheExpectedAndTheFoundViolation) {
  expect({.check = "lease-exclusion", .violated = true, .kind = "double-grant"});
  for (const std::uint64_t seed : {7U, 3U, 5U})
    judge_->add(run_of(seed, Outcome::violated, {"overrun", "overrun"}));
  EXPECT_EQ(
      text(),
      "lease-exclusion: expected double-grant on all seeds, found overrun on all 3 runs (seeds 3, 5, 7)");
  EXPECT_EQ(culprit(expectation(), tally()), 3u);
  EXPECT_EQ(reason_of(expectation(), tally()), "reason of seed 3");
}

TEST_F(Explain, NamesAFewSeedsAndCountsTheRest) {
  expect({.check = "mutual-exclusion"});
  for (std::uint64_t seed = 1; seed <= 1200; ++seed)
    judge_->add(run_of(seed, seed % 2 == 0 ? Outcome::violated : Outcome::holds, {"overrun"}));
  EXPECT_EQ(text(),
            "mutual-exclusion: expected no violation on any seed, found overrun on 600 of 1,200 runs "
            "(seeds 2, 4, 6, 8, 10 and 595 more)");
}

TEST_F(Explain, SaysWhenNothingWasFound) {
  expect({.check = "oversell", .violated = true, .seeds = *sim::parse_seed_quota(">= 90%")});
  judge_->add(run_of(4, Outcome::holds));
  EXPECT_EQ(
      text(),
      "oversell: expected a violation on >= 90% of the seeds, found no violation on the one run (seed 4)");
}

TEST_F(Explain, TellsWhatWasFoundTooOften) {
  expect({.check = "oversell", .violated = true, .seeds = *sim::parse_seed_quota("<= 1")});
  for (const std::uint64_t seed : {9U, 2U, 6U}) judge_->add(run_of(seed, Outcome::violated, {"oversold"}));
  judge_->add(run_of(1, Outcome::holds));
  EXPECT_EQ(text(),
            "oversell: expected a violation on <= 1 of the seeds, found it on 3 of 4 runs (seeds 2, 6, 9)");
  EXPECT_EQ(culprit(expectation(), tally()), 2u);  // seed 1 is as expected
  EXPECT_EQ(reason_of(expectation(), tally()), "reason of seed 2");
}

TEST_F(Explain, AFailureIsTheCulpritRatherThanWhatIsUnknown) {
  expect({.check = "lease-exclusion"});
  judge_->add(run_of(1, Outcome::unknown));
  EXPECT_EQ(culprit(expectation(), tally()), 1u);
  judge_->add(run_of(2, Outcome::violated, {"double-grant"}));
  EXPECT_EQ(culprit(expectation(), tally()), 2u);
  EXPECT_EQ(text(),
            "lease-exclusion: expected no violation on any seed, found double-grant on 1 of 2 runs, no "
            "verdict on 1 of 2 "
            "runs (seeds 1, 2)");
}

TEST_F(Explain, NothingIsWrongWithWhatWasMet) {
  expect({.check = "lease-exclusion"});
  judge_->add(run_of(1, Outcome::holds));
  EXPECT_EQ(culprit(expectation(), tally()), std::nullopt);
}

TEST_F(Explain, ARunIsLostAsSoonAsNothingCanSaveIt) {
  expect({.check = "oversell", .violated = true, .seeds = *sim::parse_seed_quota(">= 50%")});
  judge_->add(run_of(1, Outcome::holds));
  EXPECT_FALSE(judge_->lost(3));
  judge_->add(run_of(2, Outcome::holds));
  EXPECT_TRUE(judge_->lost(3));
  expect({.check = "oversell", .violated = true, .seeds = *sim::parse_seed_quota("== 0")});
  judge_->add(run_of(1, Outcome::holds));
  EXPECT_FALSE(judge_->lost(3));
  judge_->add(run_of(2, Outcome::violated));
  EXPECT_TRUE(judge_->lost(3));
}

TEST(Numbers, HaveCommas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
}

}  // namespace
}  // namespace holdfast::tools
