// at-rest: planted leftovers, and the runs that it must pass.
#include <gtest/gtest.h>

#include <string>

#include "checker/checks/check.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::history_of;

Verdict run(const std::string& script) { return find_check("at-rest")->run(history_of(script), {}); }

const std::string kWork = R"(
  1 c1/0 invoke acquire k owner=c1:0
  2 c1/0 ok acquire k id=a owner=c1:0 valid=31
  9 c1/0 invoke release k id=a owner=c1:0
  10 c1/0 ok release k id=a owner=c1:0
)";
const std::string kAsked = "20 rest/0 invoke acquire k owner=rest:0\n";
const std::string kGranted = "21 rest/0 ok acquire k id=z owner=rest:0\n";
const std::string kRefused = "90 rest/0 fail acquire k error=timeout\n";

TEST(AtRest, AFreeLockHolds) {
  const Verdict verdict = run(kWork + kAsked + kGranted);
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict.reason;
  EXPECT_EQ(verdict.reason, "1 key was free after the work");
}

TEST(AtRest, WithoutTheQuestionNobodyKnows) {
  EXPECT_EQ(run(kWork).outcome, Outcome::unknown);
  EXPECT_EQ(run(kWork + "30 rest info left-behind k\n").outcome, Outcome::unknown);
}

TEST(AtRest, ALockThatNobodyHasAndNobodyGetsIsFound) {
  for (const std::string& answer : {kRefused, std::string("90 rest/0 info acquire k error=unavailable\n"),
                                    std::string("90 c1/0 invoke acquire k\n")}) {
    const History history = history_of(kWork + kAsked + answer);
    const Verdict verdict = find_check("at-rest")->run(history, {});
    ASSERT_EQ(verdict.outcome, Outcome::violated) << answer;
    EXPECT_EQ(verdict.witnesses[0].kind, "not-free");
    EXPECT_EQ(verdict.witnesses[0].key, "k");
    EXPECT_EQ(verdict.reason, verdict.witnesses[0].why);
    EXPECT_EQ(find_check("at-rest")->run(history.subset(verdict.witnesses[0].events), {}).outcome,
              Outcome::violated);
  }
  EXPECT_EQ(run(kWork + kAsked + kRefused).reason,
            "Nobody had k any more, and who asked for it at 19.000 ms was not granted it by 89.000 ms.");
}

TEST(AtRest, APermitThatIsLostIsFound) {
  const std::string others = R"(
    20 rest/1 invoke acquire k owner=rest:1
    20 rest/2 invoke acquire k owner=rest:2
    22 rest/1 ok acquire k id=y owner=rest:1
  )";
  EXPECT_EQ(run(kWork + kAsked + others + kGranted + "23 rest/2 ok acquire k id=x owner=rest:2\n").outcome,
            Outcome::holds);
  const Verdict verdict =
      run(kWork + kAsked + others + kGranted + "90 rest/2 fail acquire k error=timeout\n");
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.violations, 1u);
  EXPECT_EQ(verdict.reason,
            "Nobody had a permit of k any more, and of 3 that were asked for at 19.000 ms 2 were granted by "
            "89.000 ms.");
}

TEST(AtRest, ARecordWithoutExpiryIsFound) {
  const Verdict verdict =
      run(kWork + kAsked + kGranted + "30 rest info left-behind k:queue node=r1 mode=list\n");
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.witnesses[0].kind, "no-expiry");
  EXPECT_EQ(verdict.reason,
            "After the work k:queue stands on r1 (list) without an expiry: nothing removes it.");
}

// The lock may be free all the same: of independent servers one is lost.
TEST(AtRest, AScriptThatDoesNotEndIsFound) {
  for (const std::string& answer : {kGranted, kRefused}) {
    const Verdict verdict = run(kWork + kAsked + answer + "95 rest info left-behind k node=r1 mode=script\n");
    ASSERT_EQ(verdict.outcome, Outcome::violated);
    EXPECT_EQ(verdict.witnesses[0].kind, "endless-script");
    EXPECT_EQ(verdict.reason, "After the work r1 runs a script that does not end, and answers nobody.");
  }
}

// Nothing can be asked of what a fault still breaks.
TEST(AtRest, AFaultThatNeverHealsLeavesItOpen) {
  const std::string killed = R"(
    12 nemesis info fault kill id=kill#1 value=1
    12 nemesis info effect kill id=kill#1 mode=crashed node=r1
  )";
  EXPECT_EQ(run(kWork + killed + kAsked + kRefused).outcome, Outcome::unknown);
  EXPECT_EQ(run(kWork + killed + kAsked + kGranted).outcome, Outcome::holds);
  const std::string started_again = "14 nemesis info effect start id=start#1 mode=restarted node=r1\n";
  EXPECT_EQ(run(kWork + killed + started_again + kAsked + kRefused).outcome, Outcome::violated);
  const std::string died = R"(
    12 c1 info crash -
    12 nemesis info fault die id=die#1 value=1
    12 nemesis info effect die id=die#1 mode=crashed node=c1
  )";
  EXPECT_EQ(run(kWork + died + kAsked + kRefused).outcome, Outcome::violated);
  const std::string healed = "14 nemesis info fault kill id=kill#1 value=0\n";
  EXPECT_EQ(run(kWork + killed + healed + kAsked + kRefused).outcome, Outcome::violated);
}

}  // namespace
}  // namespace holdfast::checker
