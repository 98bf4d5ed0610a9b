#include "checker/testing/run_check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::checker::testing {

Verdict run(std::string_view check, const History& history, const CheckContext& context) {
  const Check* const found = find_check(check);
  EXPECT_NE(found, nullptr) << check;
  return found->run(history, context);
}

void expect_violated(const Verdict& verdict, std::string_view kind) {
  EXPECT_EQ(verdict.outcome, Outcome::violated) << verdict.reason;
  ASSERT_FALSE(verdict.witnesses.empty());
  EXPECT_EQ(verdict.witnesses.front().kind, kind) << verdict.reason;
  EXPECT_EQ(verdict.reason, verdict.witnesses.front().why);
  EXPECT_GE(verdict.violations, verdict.witnesses.size());
  for (const Witness& witness : verdict.witnesses) {
    EXPECT_TRUE(std::is_sorted(witness.events.begin(), witness.events.end()));
    EXPECT_EQ(witness.why.back(), '.');
  }
}

}  // namespace holdfast::checker::testing
