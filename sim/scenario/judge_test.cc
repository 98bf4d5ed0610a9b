#include "sim/scenario/judge.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using checker::Outcome;

Scenario expecting(std::vector<Expectation> expectations) {
  Scenario scenario;
  scenario.expectations = std::move(expectations);
  return scenario;
}

RunResult run_with(std::uint64_t seed, std::vector<Outcome> outcomes, const std::string& kind = "") {
  RunResult run;
  run.seed = seed;
  for (const Outcome outcome : outcomes) {
    checker::Verdict verdict;
    verdict.outcome = outcome;
    verdict.reason = "why of seed " + std::to_string(seed);
    if (!kind.empty()) {
      verdict.witnesses.emplace_back();
      verdict.witnesses.back().kind = kind;
    }
    run.verdicts.push_back(verdict);
  }
  return run;
}

TEST(Judge, UnknownNeverReadsAsAPass) {
  const Scenario scenario = expecting({{.check = "mutual-exclusion"}});
  Judge judge(scenario);
  judge.add(run_with(1, {Outcome::holds}));
  EXPECT_EQ(judge.result(), Tally::Result::met);
  judge.add(run_with(2, {Outcome::unknown}));
  EXPECT_EQ(judge.result(), Tally::Result::unknown);
  judge.add(run_with(3, {Outcome::violated}));
  EXPECT_EQ(judge.result(), Tally::Result::failed);  // a violation outranks it
}

TEST(Judge, NoRunIsNoPass) {
  const Scenario scenario = expecting({{.check = "oversell", .seeds = *parse_seed_quota(">= 0%")}});
  EXPECT_EQ(Judge(scenario).result(), Tally::Result::unknown);
}

TEST(Judge, ExpectedViolationsMayBeOfAKind) {
  const Scenario scenario = expecting({{.check = "lease-exclusion",
                                        .violated = true,
                                        .kind = "double-grant",
                                        .seeds = *parse_seed_quota(">= 50%")}});
  Judge judge(scenario);
  judge.add(run_with(1, {Outcome::violated}, "double-grant"));
  judge.add(run_with(2, {Outcome::violated}, "expired-lock"));
  EXPECT_EQ(judge.result(), Tally::Result::met);
  judge.add(run_with(3, {Outcome::holds}));
  EXPECT_EQ(judge.result(), Tally::Result::failed);
}

Tally tally_of(std::uint64_t runs, std::uint64_t matching, std::uint64_t asked) {
  Tally tally;
  tally.runs = runs;
  tally.matching = matching;
  tally.asked = asked;
  return tally;
}

Tally::Result judged(const char* quota, std::uint64_t runs, std::uint64_t matching, std::uint64_t asked) {
  return tally_of(runs, matching, asked).result({.check = "reached", .seeds = *parse_seed_quota(quota)});
}

TEST(Judge, OfFewSeedsAShareIsJudgedAsFarAsTheyCanTell) {
  using Result = Tally::Result;
  EXPECT_EQ(judged(">= 20%", 3, 1, 20), Result::met);
  EXPECT_EQ(judged(">= 20%", 3, 0, 20), Result::too_few) << "half of all samples of three look like this";
  EXPECT_EQ(judged(">= 20%", 13, 0, 20), Result::too_few);
  EXPECT_EQ(judged(">= 20%", 14, 0, 20), Result::failed) << "0.8 to the power of 14 is 0.044";
  EXPECT_EQ(judged(">= 90%", 3, 2, 200), Result::too_few);
  EXPECT_EQ(judged(">= 90%", 3, 0, 200), Result::failed) << "one of a thousand";
  EXPECT_EQ(judged("<= 10%", 3, 1, 200), Result::too_few);
  EXPECT_EQ(judged("<= 10%", 3, 3, 200), Result::failed);
  EXPECT_EQ(judged(">= 5", 3, 3, 20), Result::too_few);
  EXPECT_EQ(judged("<= 2", 3, 3, 20), Result::failed) << "more seeds cannot make it fewer";
  // What holds for every seed holds for few of them.
  EXPECT_EQ(judged("all", 3, 2, 200), Result::failed);
  EXPECT_EQ(judged("== 0", 3, 1, 200), Result::failed);
  // The seeds that the file asks for, or more, are taken at their word.
  EXPECT_EQ(judged(">= 20%", 20, 3, 20), Result::failed);
  EXPECT_EQ(judged(">= 20%", 25, 4, 20), Result::failed);
  const Expectation expectation{.check = "reached", .seeds = *parse_seed_quota(">= 20%")};
  EXPECT_EQ(tally_of(3, 0, 20).needs(expectation), 14u);
  EXPECT_EQ(tally_of(3, 0, 10).needs(expectation), 10u);
}

TEST(Judge, TooFewSeedsForEverythingIsNoPass) {
  Scenario scenario = expecting({{.check = "reached", .seeds = *parse_seed_quota(">= 20%")}});
  scenario.seeds = *parse_seeds("1..20");
  Judge alone(scenario);
  alone.add(run_with(1, {Outcome::violated}));
  EXPECT_EQ(alone.result(), Tally::Result::unknown);
  scenario.expectations.push_back({.check = "mutual-exclusion"});
  Judge both(scenario);
  both.add(run_with(1, {Outcome::violated, Outcome::holds}));
  EXPECT_EQ(both.result(), Tally::Result::met);
}

TEST(Judge, WhatTooFewSeedsWillNotTellIsNotLost) {
  Scenario scenario = expecting({{.check = "lease-exclusion",
                                  .violated = true,
                                  .kind = "double-grant",
                                  .seeds = *parse_seed_quota(">= 50%")},
                                 {.check = "oversell"}});
  scenario.seeds = *parse_seeds("1..20");
  Judge judge(scenario);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    judge.add(run_with(seed, {Outcome::holds, Outcome::holds}));
    EXPECT_FALSE(judge.lost(3)) << "half of eight such samples look like that";
  }
  EXPECT_NE(judge.result(), Tally::Result::failed);
  for (std::uint64_t seed = 4; seed <= 11; ++seed) {
    EXPECT_FALSE(judge.lost(20));
    judge.add(run_with(seed, {Outcome::holds, Outcome::holds}));
  }
  EXPECT_TRUE(judge.lost(20)) << "eleven of twenty did not show it";
}

TEST(Judge, OrderOfRunsDoesNotMatter) {
  const Scenario scenario = expecting({{.check = "mutual-exclusion"}});
  Judge forward(scenario), backward(scenario);
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    forward.add(run_with(seed, {seed % 3 == 0 ? Outcome::violated : Outcome::holds}));
    backward.add(run_with(41 - seed, {(41 - seed) % 3 == 0 ? Outcome::violated : Outcome::holds}));
  }
  EXPECT_EQ(forward.tallies()[0].misses, backward.tallies()[0].misses);
  EXPECT_EQ(forward.tallies()[0].first_miss, backward.tallies()[0].first_miss);
  EXPECT_EQ(forward.tallies()[0].first_miss, "why of seed 3");
}

}  // namespace
}  // namespace holdfast::sim
