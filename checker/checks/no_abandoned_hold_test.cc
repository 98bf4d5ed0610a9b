// no-abandoned-hold: a planted hold that is kept for nobody, and the runs that it must pass.
#include <gtest/gtest.h>

#include <string>

#include "checker/checks/check.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::history_of;

Verdict run(const std::string& script, CheckContext context = {}) {
  return find_check("no-abandoned-hold")->run(history_of(script), context);
}

const std::string kGrant = R"(
  1 c1/0 invoke acquire k owner=c1:0
  2 c1/0 ok acquire k id=a owner=c1:0 valid=31
)";
const std::string kRenewals = R"(
  20 c1/watchdog ok renew k id=a valid=50
  40 c1/watchdog ok renew k id=a valid=70
  60 c1/watchdog ok renew k id=a valid=90
)";
const std::string kLeave = "3 c1/0 ok leave k id=a owner=c1:0\n";
const std::string kEnd = "80 c2/0 invoke acquire k owner=c2:0\n";

TEST(NoAbandonedHold, APlantedOneIsFound) {
  const History history = history_of(kGrant + kLeave + kRenewals + kEnd);
  const Verdict verdict = find_check("no-abandoned-hold")->run(history, {});
  ASSERT_EQ(verdict.outcome, Outcome::violated) << verdict.reason;
  EXPECT_EQ(verdict.violations, 1u);
  EXPECT_EQ(verdict.witnesses[0].kind, "abandoned");
  EXPECT_EQ(verdict.reason, verdict.witnesses[0].why);
  EXPECT_NE(verdict.reason.find(" was done with k at 2.000 ms and did not release it"), std::string::npos)
      << verdict.reason;
  EXPECT_EQ(find_check("no-abandoned-hold")->run(history.subset(verdict.witnesses[0].events), {}).outcome,
            Outcome::violated);
}

TEST(NoAbandonedHold, AReleasedOneIsNone) {
  EXPECT_EQ(run(kGrant + kRenewals + "61 c1/0 invoke release k id=a owner=c1:0\n" + kEnd).outcome,
            Outcome::holds);
}

TEST(NoAbandonedHold, OneThatEndsWithItsLeaseOrItsClientIsNone) {
  EXPECT_EQ(run(kGrant + kLeave + kEnd).outcome, Outcome::holds);
  EXPECT_EQ(run(kGrant + kLeave + kRenewals + "65 c1 info crash -\n" + kEnd).outcome, Outcome::holds);
  EXPECT_EQ(run(kGrant + kLeave + kRenewals + "70 c1/watchdog ok lost k id=a\n" + kEnd).outcome,
            Outcome::holds);
  EXPECT_EQ(run(kGrant + kLeave + kRenewals + "95 c2/0 invoke acquire k owner=c2:0\n").outcome,
            Outcome::holds);
}

// Its thread comes back to it, or the run ends before anybody could tell.
TEST(NoAbandonedHold, OneThatIsUsedAgainIsNoneAndAShortRunTellsNothing) {
  const std::string again = "55 c1/0 ok write k id=a owner=c1:0 value=1\n";
  EXPECT_EQ(run(kGrant + kLeave + kRenewals + again + kEnd).outcome, Outcome::holds);
  const std::string entered = "55 c1/0 ok acquire k id=a owner=c1:0\n";
  EXPECT_EQ(run(kGrant + kLeave + kRenewals + entered + kEnd, {.reentrant = true}).outcome, Outcome::holds);
  EXPECT_EQ(run(kGrant + kRenewals + "61 c1/0 ok leave k id=a owner=c1:0\n" + kEnd).outcome,
            Outcome::unknown);
}

TEST(NoAbandonedHold, WithoutWhatItNeedsItIsUnknown) {
  EXPECT_EQ(run("1 c1/0 invoke acquire k owner=c1:0\n").outcome, Outcome::unknown) << "no hold";
  EXPECT_EQ(run(kGrant + kRenewals + kEnd).outcome, Outcome::unknown) << "nobody tells whether it works";
  EXPECT_EQ(run("1 c1/0 ok acquire k id=a owner=c1:0\n" + kLeave + kEnd).outcome, Outcome::unknown)
      << "no valid_until";
  EXPECT_EQ(run("1 c1/0 ok acquire k owner=c1:0 valid=90\n" + kEnd).outcome, Outcome::unknown) << "no id";
}

}  // namespace
}  // namespace holdfast::checker
