// fair-order where the ledger tells when the server granted.
#include <gtest/gtest.h>

#include <string>

#include "checker/checks/check.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::history_of;

Verdict judged(const History& history) { return find_check("fair-order")->run(history, {}); }

// a has one of two permits, and somebody the other. b waits, c asks later. They are told in the order c, b.
std::string told_late(const std::string& ledger) {
  return "1 a invoke acquire k\n1 a ok acquire k id=a permits=1\n2 b invoke acquire k\n3 b ok queue k\n"
         "4 c invoke acquire k\n" +
         ledger + "9 c ok acquire k id=c permits=1\n10 b ok acquire k id=b permits=1\n";
}
std::string store_grant(int forwarded, int answered, const std::string& id, int value = 1) {
  const std::string process = " ledger/" + std::to_string(forwarded);
  return std::to_string(forwarded) + process + " invoke store-grant k owner=c1 node=r1\n" +
         std::to_string(answered) + process + " ok store-grant k id=" + id +
         " owner=c1 node=r1 value=" + std::to_string(value) + "\n";
}

TEST(FairOrder, WhoIsToldLateWasNotOvertaken) {
  EXPECT_EQ(judged(history_of(told_late(""))).outcome, Outcome::violated);
  EXPECT_EQ(judged(history_of(told_late(store_grant(5, 6, "b") + store_grant(7, 8, "c")))).outcome,
            Outcome::holds);
  EXPECT_EQ(judged(history_of(told_late(store_grant(5, 6, "c") + store_grant(7, 8, "b")))).outcome,
            Outcome::violated);
  // At the same time, as far as anybody knows.
  EXPECT_EQ(judged(history_of(told_late("5 ledger/5 invoke store-grant k owner=c1 node=r1\n" +
                                        store_grant(6, 7, "c") +
                                        "8 ledger/5 ok store-grant k id=b owner=c1 node=r1 value=1\n")))
                .outcome,
            Outcome::holds);
  // A command that granted nothing tells nothing.
  EXPECT_EQ(judged(history_of(told_late(store_grant(5, 6, "b", 0) + store_grant(7, 8, "c")))).outcome,
            Outcome::violated);
}

TEST(FairOrder, AWitnessWithItsLedgerIsEnough) {
  // Told in the order b, c; granted in the order c, b.
  const History history = history_of(
      "1 a invoke acquire k\n1 a ok acquire k id=a permits=1\n2 b invoke acquire k\n3 b ok queue k\n"
      "4 c invoke acquire k\n" +
      store_grant(5, 6, "c") + store_grant(7, 8, "b") +
      "9 b ok acquire k id=b permits=1\n10 c ok acquire k id=c permits=1\n");
  const Verdict verdict = judged(history);
  ASSERT_EQ(verdict.outcome, Outcome::violated) << verdict.reason;
  ASSERT_FALSE(verdict.witnesses.empty());
  EXPECT_EQ(judged(history.subset(verdict.witnesses.front().events)).outcome, Outcome::violated);
}

}  // namespace
}  // namespace holdfast::checker
