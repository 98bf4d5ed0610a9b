// The checks of the protected resource: stock, writes, tokens. Planted bugs that they find, clean histories
// that they pass, and histories for which they answer `unknown`.
#include "checker/checks/check.h"

#include <gtest/gtest.h>

#include "checker/testing/run_check.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::expect_violated;
using testing::history_of;
using testing::kMs;
using testing::run;

// --- the resource -----------------------------------------------------------------------------------------

TEST(Oversell, CountsWhatIsSure) {
  CheckContext context;
  context.initial_stock = 2;
  const History three = history_of(R"(
    1 c1/0 ok sell stock
    2 c2/0 ok sell stock
    3 c3/0 ok sell stock
  )");
  const Verdict verdict = run("oversell", three, context);
  expect_violated(verdict, "oversold");
  EXPECT_EQ(verdict.witnesses[0].events.size(), 3U);
  EXPECT_EQ(verdict.violations, 1U);
  context.initial_stock = 3;
  EXPECT_EQ(run("oversell", three, context).outcome, Outcome::holds);
  EXPECT_EQ(run("oversell", three).outcome, Outcome::unknown);
  context.initial_stock = 1;
  EXPECT_EQ(
      run("oversell", history_of("1 c1/0 ok sell s\n2 c2/0 invoke sell s\n3 c2/0 info sell s\n"), context)
          .outcome,
      Outcome::unknown);
}

TEST(LostUpdate, StockIsStartMinusSold) {
  const History history = history_of(R"(
    1 c1/0 ok read stock value=10
    2 c2/0 ok read stock value=10
    3 c1/0 ok write stock value=9
    4 c1/0 ok sell stock
    5 c2/0 ok write stock value=9
    6 c2/0 ok sell stock
  )");
  CheckContext context;
  context.initial_stock = 10;
  context.final_stock = 9;
  const Verdict verdict = run("lost-update", history, context);
  expect_violated(verdict, "lost-update");
  EXPECT_EQ(verdict.witnesses[0].events, (std::vector<std::size_t>{0, 1, 2, 4}));
  context.final_stock = 8;
  EXPECT_EQ(run("lost-update", history, context).outcome, Outcome::holds);
  context.final_stock = 7;
  EXPECT_EQ(run("lost-update", history, context).outcome, Outcome::violated);
  context.final_stock.reset();
  EXPECT_EQ(run("lost-update", history, context).outcome, Outcome::unknown);
}

TEST(NegativeStock, AWriteBelowZero) {
  const History history = history_of(R"(
    1 c1/0 ok read stock value=0
    2 c1/0 invoke sell stock
    2 c1/0 invoke write stock value=-1
    3 c1/0 ok write stock value=-1
    4 c1/0 ok sell stock
    5 c2/0 ok read stock value=-1
    6 c2/0 ok cas stock value=-2
  )");
  const Verdict verdict = run("negative-stock", history);
  expect_violated(verdict, "below-zero");
  EXPECT_EQ(verdict.violations, 2U) << "two writes; the read adds nothing";
  EXPECT_EQ(verdict.witnesses[0].events, (std::vector<std::size_t>{1, 2, 3}));
  expect_violated(run("negative-stock", history.subset(verdict.witnesses[0].events)), "below-zero");
  EXPECT_EQ(verdict.witnesses[0].why,
            "write by c1/0 left -1 in stock at 2.000 ms: a unit was taken that was not there.");
  EXPECT_EQ(verdict.witnesses[1].events, (std::vector<std::size_t>{1, 6}));
}

TEST(NegativeStock, HoldsDownToZero) {
  const std::string sold_out = R"(
    1 c1/0 ok read stock value=1
    2 c1/0 ok write stock value=0
    3 c1/0 ok sell stock
    4 c2/0 ok read stock value=0
  )";
  EXPECT_EQ(run("negative-stock", history_of(sold_out)).outcome, Outcome::holds);
  // A write that certainly had no effect took nothing.
  EXPECT_EQ(run("negative-stock", history_of(sold_out + R"(
    5 c2/0 invoke cas stock value=-1
    6 c2/0 fail cas stock
  )"))
                .outcome,
            Outcome::holds);
}

TEST(NegativeStock, AWriteOfWhichNobodyKnows) {
  const std::string unknown = R"(
    1 c1/0 ok read stock value=0
    2 c1/0 invoke sell stock
    2 c1/0 invoke write stock value=-1
    3 c1/0 info write stock
    3 c1/0 info sell stock
  )";
  EXPECT_EQ(run("negative-stock", history_of(unknown)).outcome, Outcome::unknown);
  const Verdict read = run("negative-stock", history_of(unknown + "4 c2/0 ok read stock value=-1\n"));
  expect_violated(read, "below-zero");
  EXPECT_EQ(read.witnesses[0].events, (std::vector<std::size_t>{1, 5}));
}

// A register may well hold a number below zero; so may an account.
TEST(NegativeStock, NothingIsSaidWithoutAStock) {
  EXPECT_EQ(run("negative-stock", history_of("1 c1/0 ok write x value=-1\n")).outcome, Outcome::unknown);
  EXPECT_EQ(run("negative-stock", history_of("1 c1/0 ok sell stock\n")).outcome, Outcome::unknown);
}

TEST(EffectsInsideHold, AWriteAfterTheHold) {
  const std::string hold = "1 c1/0 ok acquire k id=a owner=o\n";
  expect_violated(run("effects-inside-hold", history_of(hold + R"(
    5 c1/watchdog ok lost k id=a
    6 c1/0 invoke write stock id=a owner=o value=3
    7 c1/0 ok write stock id=a owner=o value=3
  )")),
                  "effect-outside-hold");
  EXPECT_EQ(run("effects-inside-hold", history_of(hold + R"(
    4 c1/0 invoke write stock id=a owner=o value=3
    5 c1/watchdog ok lost k id=a
    7 c1/0 ok write stock id=a owner=o value=3
  )"))
                .outcome,
            Outcome::holds);
  expect_violated(run("effects-inside-hold", history_of(hold + "1 c9/0 ok write stock value=1")),
                  "effect-outside-hold");
  EXPECT_EQ(run("effects-inside-hold", history_of(hold)).outcome, Outcome::unknown);
}

TEST(FencingMonotonic, TokensRise) {
  const std::string first = R"(
    1 c1/0 invoke acquire k
    2 c1/0 ok acquire k id=a token=5
    3 c1/0 invoke release k id=a
  )";
  const auto second = [&](const std::string& invoked, const std::string& more) {
    return history_of(first + invoked + " c2/0 invoke acquire k\n 9 c2/0 ok acquire k id=b " + more + "\n");
  };
  EXPECT_EQ(run("fencing-monotonic", second("4", "token=6")).outcome, Outcome::holds);
  expect_violated(run("fencing-monotonic", second("4", "token=5")), "token-repeated");
  expect_violated(run("fencing-monotonic", second("4", "token=4")), "token-fell");
  // Asked for before the first grant: the holds give the order.
  expect_violated(run("fencing-monotonic",
                      history_of("0 c2/0 invoke acquire k\n" + first + "9 c2/0 ok acquire k id=b token=4\n")),
                  "token-fell");
  EXPECT_EQ(run("fencing-monotonic", second("4", "")).outcome, Outcome::unknown);
  const History readers = history_of(R"(
    1 c1/0 ok acquire k id=a token=5 mode=read
    2 c2/0 invoke acquire k mode=read
    3 c2/0 ok acquire k id=b token=5 mode=read
    4 c3/0 invoke acquire k mode=write
    9 c3/0 ok acquire k id=c token=6 mode=write
  )");
  EXPECT_EQ(run("fencing-monotonic", readers).outcome, Outcome::holds);
  // The first of two readers learns of its grant when the second one has left: the server knows the order.
  const auto late = [&](const std::string& mode) {
    return history_of(R"(
      1 c1/0 invoke acquire k mode=read
      2 c2/0 invoke acquire k mode=read
      3 c2/0 ok acquire k id=b token=6 mode=read
      4 c2/0 invoke release k id=b mode=read
      9 c1/0 ok acquire k id=a token=5 mode=)" +
                      mode);
  };
  EXPECT_EQ(run("fencing-monotonic", late("read")).outcome, Outcome::holds);
  expect_violated(run("fencing-monotonic", late("write")), "token-fell");
}

// Of a semaphore: the server granted the first one's before, it learned of it later. Whether they exclude
// each other depends on how many permits they took.
TEST(FencingMonotonic, TokensOfPermitsThatExcludeEachOther) {
  const auto judged = [&](std::int64_t permits, const std::string& taken) {
    CheckContext context;
    context.permits = permits;
    return find_check("fencing-monotonic")
        ->run(history_of(
                  "1 c1/0 invoke acquire k permits=" + taken + "\n2 c2/0 invoke acquire k permits=2\n" +
                  "3 c2/0 ok acquire k id=b token=6 permits=2\n4 c2/0 invoke release k id=b permits=2\n" +
                  "9 c1/0 ok acquire k id=a token=5 permits=" + taken + "\n"),
              context);
  };
  EXPECT_EQ(judged(3, "1").outcome, Outcome::holds);
  EXPECT_EQ(judged(4, "2").outcome, Outcome::holds);
  expect_violated(judged(3, "2"), "token-fell");
  expect_violated(judged(1, "1"), "token-fell");
  // Of those before, the one with the greatest token that excludes it.
  CheckContext context;
  context.permits = 3;
  const auto three = [&](const std::string& mine) {
    return find_check("fencing-monotonic")
        ->run(history_of(R"(
          1 c1/0 invoke acquire k permits=1
          1 c2/0 invoke acquire k permits=3
          1 c3/0 invoke acquire k permits=2
          2 c2/0 ok acquire k id=b token=5 permits=3
          3 c2/0 invoke release k id=b permits=3
          4 c1/0 ok acquire k id=a token=9 permits=1
          5 c1/0 invoke release k id=a permits=1
          9 c3/0 ok acquire k id=c permits=2 token=)" +
                         mine),
              context);
  };
  EXPECT_EQ(three("10").outcome, Outcome::holds);
  EXPECT_EQ(three("7").outcome, Outcome::holds);
  expect_violated(three("4"), "token-fell");
  expect_violated(three("5"), "token-repeated");
}

TEST(EffectsInsideHold, WithoutLocksUnknown) {
  const Verdict verdict = run("effects-inside-hold", history_of("1 c9/0 ok write stock value=1"));
  EXPECT_EQ(verdict.outcome, Outcome::unknown);
  EXPECT_EQ(verdict.reason, "the history has no acquire");
}

}  // namespace
}  // namespace holdfast::checker
