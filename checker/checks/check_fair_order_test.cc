// fair-order where the ledger tells when the server granted.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

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

// Of a lease of 300 ms: who was not heard of for 400 lost its place, and comes in again where it asks next.
TEST(FairOrder, WhoIsSilentForALeaseAndAThirdLosesItsPlace) {
  struct Ask {  // of b: when it was sent on, answered, and told to its client; 0: the answer was an error
    int sent, answered, told;
  };
  const auto outcome = [](const std::vector<Ask>& asks, int c_asks, int c_has) {
    std::multimap<int, std::string> lines = {{1, "1 a invoke acquire k\n1 a ok acquire k id=a\n"},
                                             {2, "2 b invoke acquire k id=b\n"},
                                             {c_asks, std::to_string(c_asks) + " c invoke acquire k id=c\n"},
                                             {c_has, std::to_string(c_has) + " c ok acquire k id=c\n"},
                                             {1000, "1000 b ok acquire k id=b\n"}};
    for (const auto& [sent, answered, told] : asks) {
      if (told > 0) lines.emplace(told, std::to_string(told) + " b ok queue k id=b\n");
      if (sent == 0) continue;
      const std::string line = " ledger/" + std::to_string(sent),
                        rest = " store-grant k id=b owner=b node=r1";
      lines.emplace(sent, std::to_string(sent) + line + " invoke" + rest + "\n");
      lines.emplace(answered, std::to_string(answered) + line + " ok" + rest + " value=0\n");
    }
    std::string text;
    for (const auto& [time, line] : lines) text += line;
    CheckContext context;
    context.lease_ns = 300'000'000;
    return find_check("fair-order")->run(history_of(text), context).outcome;
  };
  EXPECT_EQ(outcome({{3, 4, 5}, {300, 310, 312}, {600, 610, 612}, {900, 910, 912}}, 500, 800),
            Outcome::violated);
  EXPECT_EQ(outcome({{0, 0, 5}}, 500, 800), Outcome::violated) << "no ledger, no silence";
  const std::vector<Ask> silent = {{3, 4, 5}, {450, 460, 462}, {800, 810, 812}};
  EXPECT_EQ(outcome(silent, 100, 430), Outcome::holds) << "it was taken for dead at 403 ms";
  EXPECT_EQ(outcome(silent, 440, 700), Outcome::holds) << "it came in again after that";
  EXPECT_EQ(outcome(silent, 470, 700), Outcome::violated) << "then it had a place once more";
  EXPECT_EQ(outcome(silent, 100, 390), Outcome::violated) << "and before that it had its first one";
  // The answer is late: nobody knows whether the request was.
  EXPECT_EQ(outcome({{3, 4, 5}, {390, 480, 481}}, 470, 490), Outcome::holds);
  EXPECT_EQ(outcome({{3, 4, 5}, {390, 480, 481}}, 485, 900), Outcome::holds)
      << "and in the end it was silent";
  // A server that answers an error has not heard.
  EXPECT_EQ(outcome({{3, 4, 5}, {300, 310, 0}, {460, 470, 471}, {800, 810, 812}}, 440, 700), Outcome::holds);
  EXPECT_EQ(outcome({{3, 4, 5}, {300, 310, 311}, {460, 470, 471}, {800, 810, 812}}, 440, 700),
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
