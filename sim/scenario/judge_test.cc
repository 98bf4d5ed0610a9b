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
