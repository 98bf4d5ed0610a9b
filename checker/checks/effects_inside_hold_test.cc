// effects-inside-hold: which lock guards a resource, and what covers a write.
#include <gtest/gtest.h>

#include <string>

#include "checker/checks/check.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::history_of;

Verdict judge(const std::string& lines) {
  return find_check("effects-inside-hold")->run(history_of(lines), {});
}

// C8: a hold of an unrelated lock is no cover.
TEST(EffectsInsideHold, TheLockOfThatNameGuards) {
  const std::string locks = R"(
    1 c1/0 ok acquire stock id=a
    1 c2/0 ok acquire other id=b
  )";
  EXPECT_EQ(judge(locks + "5 c1/0 ok write stock value=1\n").outcome, Outcome::holds);
  const Verdict other = judge(locks + "5 c2/0 ok write stock value=1\n");
  EXPECT_EQ(other.outcome, Outcome::violated);
  EXPECT_EQ(
      judge(locks + "5 c2/0 ok write stock id=b value=1\n").witnesses.at(0).why,
      "write by c2/0 took effect at 4.000 ms or later, in the hold of other by c2/0 (b, granted at 0.000 "
      "ms), while stock guards it.");
}

TEST(EffectsInsideHold, TheOnlyLockGuardsEverything) {
  EXPECT_EQ(judge("1 c1/0 ok acquire k id=a\n5 c1/0 ok write stock value=1\n").outcome, Outcome::holds);
}

// Three writes under `k`, one under `j` alone: `k` guards, whether the writes name their acquisitions or not.
TEST(EffectsInsideHold, TheLockThatCoversMostWritesGuards) {
  for (const bool named : {false, true}) {
    const std::string a = named ? " id=a" : "", b = named ? " id=b" : "";
    const std::string lines =
        "1 c1/0 ok acquire k id=a\n1 c2/0 ok acquire j id=b\n2 c1/0 ok write stock value=1" + a +
        "\n3 c1/0 ok write stock value=2" + a + "\n4 c2/0 ok write stock value=3" + b +
        "\n5 c1/0 ok write stock value=4" + a + "\n";
    const Verdict verdict = judge(lines);
    ASSERT_EQ(verdict.outcome, Outcome::violated);
    EXPECT_EQ(verdict.violations, 1u);
    EXPECT_NE(verdict.reason.find("c2/0"), std::string::npos) << verdict.reason;
    EXPECT_NE(verdict.reason.find("k"), std::string::npos) << verdict.reason;
  }
  // Another resource may have another guard.
  EXPECT_EQ(judge("1 c1/0 ok acquire k id=a\n1 c2/0 ok acquire j id=b\n2 c1/0 ok write x value=1\n"
                  "4 c2/0 ok write y value=3\n")
                .outcome,
            Outcome::holds);
}

TEST(EffectsInsideHold, AReaderMayNotWrite) {
  EXPECT_EQ(judge("1 c1/0 ok acquire k id=a mode=read\n5 c1/0 ok write k value=1\n").outcome,
            Outcome::violated);
  EXPECT_EQ(judge("1 c1/0 ok acquire k id=a mode=write\n5 c1/0 ok write k value=1\n").outcome,
            Outcome::holds);
}

// A long hold covers a write however many short ones of its owner began and ended after it.
TEST(EffectsInsideHold, NoHoldIsForgotten) {
  std::string lines = "1 c1/0 ok acquire k id=long owner=o\n";
  for (int i = 0; i < 200; ++i) {
    const std::string time = std::to_string(2 + 2 * i), id = "s" + std::to_string(i);
    lines += time + " c1/1 ok acquire k owner=o id=" + id + "\n" + std::to_string(3 + 2 * i) +
             " c1/1 invoke release k owner=o id=" + id + "\n";
  }
  EXPECT_EQ(judge(lines + "900 c1/0 ok write k value=1 owner=o\n").outcome, Outcome::holds);
}

// Equal times of two processes are concurrent, those of one are not.
TEST(EffectsInsideHold, TiesAreConcurrentBetweenProcesses) {
  const std::string write = "5 c1/0 invoke write k value=1 owner=o\n5 c1/0 ok write k value=1 owner=o\n";
  EXPECT_EQ(judge(write + "5 c1/1 ok acquire k id=a owner=o\n").outcome, Outcome::holds);
  EXPECT_EQ(judge(write + "5 c1/0 ok acquire k id=a owner=o\n").outcome, Outcome::violated);
}

}  // namespace
}  // namespace holdfast::checker
