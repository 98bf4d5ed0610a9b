#include "lib/runtime/yield_budget.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

// How many of `waits` waits are tried, when each try ends so.
int tries(YieldBudget& budget, int waits, bool came, bool slow) {
  int tried = 0;
  for (int i = 0; i < waits; ++i) {
    if (!budget.worth_a_try()) continue;
    ++tried;
    budget.tried(came, slow);
  }
  return tried;
}

TEST(YieldBudget, IsSpentAtEachWaitAsLongAsItPays) {
  YieldBudget budget;
  EXPECT_EQ(tries(budget, 1000, true, false), 1000);
}

TEST(YieldBudget, IsSpentSeldomWhereItNeverPays) {
  YieldBudget budget;
  EXPECT_EQ(tries(budget, 999, false, false), 333);
}

TEST(YieldBudget, IsSpentAgainAfterOneSuccess) {
  YieldBudget budget;
  tries(budget, 1000, false, false);
  while (!budget.worth_a_try()) {
  }
  budget.tried(true, false);
  EXPECT_EQ(tries(budget, 100, true, false), 100);
}

TEST(YieldBudget, IsKeptWhileOthersNeedTheProcessor) {
  YieldBudget budget;
  EXPECT_EQ(tries(budget, 650, true, true), 10);
}

// An acquire that waits long and a release that does not, by turns.
TEST(YieldBudget, LongWaitsDoNotHideTheShortOnes) {
  YieldBudget budget;
  int short_ones = 0;
  for (int i = 0; i < 400; ++i) {
    if (!budget.worth_a_try()) continue;
    short_ones += i % 2;
    budget.tried(i % 2 == 1, false);
  }
  EXPECT_GT(short_ones, 50);
}

}  // namespace
}  // namespace holdfast
