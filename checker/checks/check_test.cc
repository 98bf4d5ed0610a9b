// Each check: planted bugs that it finds, clean histories that it passes, and histories for which it answers
// `unknown`.
#include "checker/checks/check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "checker/testing/run_check.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::expect_violated;
using testing::history_of;
using testing::kMs;
using testing::run;

TEST(Registry, NamesAreKnown) {
  std::set<std::string_view> names;
  for (const Check* check : all_checks()) {
    EXPECT_EQ(find_check(check->name()), check);
    EXPECT_TRUE(names.insert(check->name()).second);
    EXPECT_FALSE(check->about().empty());
    // An empty history is no violation.
    EXPECT_NE(check->run(History(), {}).outcome, Outcome::violated);
  }
  EXPECT_EQ(find_check("nonsense"), nullptr);
}

// --- exclusion --------------------------------------------------------------------------------------------

const char* const kDoubleGrant = R"(
  1 c1/0 invoke acquire k owner=c1:0
  2 c1/0 ok acquire k owner=c1:0 id=c1-1 node=r1 valid=100
  3 c2/0 invoke acquire k owner=c2:0
  4 c2/0 ok acquire k owner=c2:0 id=c2-1 node=r2 valid=100
  5 c1/0 invoke release k owner=c1:0 id=c1-1
  6 c2/0 invoke release k owner=c2:0 id=c2-1
)";

TEST(MutualExclusion, DoubleGrantAndOverrun) {
  const History doubled = history_of(kDoubleGrant);
  const Verdict strict = run("mutual-exclusion", doubled);
  expect_violated(strict, "double-grant");
  ASSERT_TRUE(strict.witnesses[0].acquires.has_value());
  EXPECT_EQ(strict.witnesses[0].acquires->first, 1U);
  EXPECT_EQ(strict.witnesses[0].acquires->second, 3U);
  EXPECT_EQ(strict.witnesses[0].from_ns, 4 * kMs);
  EXPECT_EQ(strict.witnesses[0].to_ns, 5 * kMs);
  expect_violated(run("lease-exclusion", doubled), "double-grant");

  const History overrun = history_of(R"(
    2 c1/0 ok acquire k owner=c1:0 id=c1-1 valid=10
    11 c2/0 ok acquire k owner=c2:0 id=c2-1 valid=30
    12 c1/0 invoke release k owner=c1:0 id=c1-1
  )");
  expect_violated(run("mutual-exclusion", overrun), "overrun");
  const Verdict lease = run("lease-exclusion", overrun);
  EXPECT_EQ(lease.outcome, Outcome::holds);
  EXPECT_NE(lease.reason.find("1 overrun"), std::string::npos) << lease.reason;
}

TEST(MutualExclusion, EqualTimesAreConcurrentAndTheReleasesOutcomeDoesNotMatter) {
  const History history = history_of(R"(
    2 c1/0 ok acquire k id=a valid=9
    5 c2/0 ok acquire k id=b valid=9
    5 c1/0 invoke release k id=a
    6 c1/0 info release k id=a
    7 c2/0 invoke release k id=b
    7 c3/0 ok acquire k id=c valid=9
  )");
  EXPECT_EQ(run("mutual-exclusion", history).outcome, Outcome::holds);
  EXPECT_EQ(run("lease-exclusion", history).outcome, Outcome::holds);
}

TEST(MutualExclusion, ReentrantOwnerReadersAndPermits) {
  const History own = history_of(R"(
    1 c1/0 ok acquire k owner=o id=a valid=9
    2 c1/0 ok acquire k owner=o id=b valid=9
  )");
  EXPECT_EQ(run("mutual-exclusion", own, {.reentrant = true}).outcome, Outcome::holds);
  expect_violated(run("mutual-exclusion", own), "double-grant");

  const History readers = history_of(R"(
    1 c1/0 ok acquire k id=a mode=read
    2 c2/0 ok acquire k id=b mode=read
  )");
  EXPECT_EQ(run("mutual-exclusion", readers).outcome, Outcome::holds);
  const History writer = history_of(R"(
    1 c1/0 ok acquire k id=a mode=read
    2 c2/0 ok acquire k id=b mode=read
    3 c3/0 ok acquire k id=c mode=write
  )");
  expect_violated(run("mutual-exclusion", writer), "overlap");

  const History permits = history_of(R"(
    1 c1/0 ok acquire k id=a permits=2
    2 c2/0 ok acquire k id=b
    3 c3/0 ok acquire k id=c permits=2
  )");
  CheckContext context;
  context.permits = 5;
  EXPECT_EQ(run("mutual-exclusion", permits, context).outcome, Outcome::holds);
  context.permits = 4;
  const Verdict verdict = run("mutual-exclusion", permits, context);
  expect_violated(verdict, "overlap");
}

TEST(LeaseExclusion, WithoutValidUntilUnknownButAViolationOutranksIt) {
  EXPECT_EQ(run("lease-exclusion", history_of("1 c1/0 ok acquire k id=a")).outcome, Outcome::unknown);
  const History mixed = history_of(std::string(kDoubleGrant) + "7 c3/0 ok acquire j id=x\n");
  const Verdict verdict = run("lease-exclusion", mixed);
  EXPECT_EQ(verdict.outcome, Outcome::violated);
  CheckContext context;
  context.clocks_within_bounds = false;
  EXPECT_TRUE(run("lease-exclusion", mixed, context).out_of_bounds);
  EXPECT_FALSE(verdict.out_of_bounds);
}

TEST(LeaseExclusion, ARenewedClaimIsConflictingAndTheWitnessHasItsRenewals) {
  const History history = history_of(R"(
    1  c1/0 ok acquire k id=a valid=10
    5  c1/watchdog ok renew k id=a valid=15
    8  c1/watchdog ok renew k id=a valid=18
    12 c1/watchdog ok renew k id=a valid=25
    20 c2/0 ok acquire k id=b valid=40
    23 c2/watchdog ok renew k id=b valid=50
  )");
  const Verdict verdict = run("lease-exclusion", history);
  expect_violated(verdict, "double-grant");
  EXPECT_EQ(verdict.witnesses[0].events, (std::vector<std::size_t>{0, 2, 3, 4}));
}

TEST(LeaseExclusion, AnExpiredGrantIsNoClaimButIsSaid) {
  const History history = history_of(R"(
    1  c1/0 ok acquire k id=a valid=50
    20 c2/0 ok acquire k id=b valid=19
    21 c2/0 invoke release k id=b
  )");
  const Verdict verdict = run("lease-exclusion", history);
  EXPECT_EQ(verdict.outcome, Outcome::holds);
  EXPECT_NE(verdict.reason.find("returned an expired lock"), std::string::npos);
  expect_violated(run("mutual-exclusion", history), "overrun");
  expect_violated(run("told-in-time", history), "expired-grant");
}

// --- told-in-time -----------------------------------------------------------------------------------------

TEST(ToldInTime, LateNeverPausedAndInTime) {
  const std::string grant = "1 c1/0 ok acquire k id=a valid=10\n";
  const std::string later = "40 c2/0 invoke acquire j\n";
  EXPECT_EQ(run("told-in-time", history_of(grant + "10 c1/watchdog ok lost k id=a\n" + later)).outcome,
            Outcome::holds);
  EXPECT_EQ(run("told-in-time", history_of(grant + "9 c1/0 invoke release k id=a\n" + later)).outcome,
            Outcome::holds);
  EXPECT_EQ(run("told-in-time", history_of(grant + "9 c1 info crash -\n" + later)).outcome, Outcome::holds);
  expect_violated(run("told-in-time", history_of(grant + "15 c1/watchdog ok lost k id=a\n" + later)),
                  "told-late");
  expect_violated(run("told-in-time", history_of(grant + later)), "not-told");
  expect_violated(run("told-in-time", history_of(grant + "15 c1/0 invoke release k id=a\n")), "not-told");
  const std::string paused = grant + "5 nemesis info effect gc id=gc#1 mode=paused node=c1\n" +
                             "14.5 nemesis info effect gc id=gc#1 mode=resumed node=c1\n";
  EXPECT_EQ(run("told-in-time", history_of(paused + "15 c1/watchdog ok lost k id=a\n" + later)).outcome,
            Outcome::holds);
  expect_violated(run("told-in-time", history_of(paused + "17 c1/watchdog ok lost k id=a\n" + later)),
                  "told-late");
  EXPECT_EQ(run("told-in-time", history_of("1 c1/0 ok acquire k id=a")).outcome, Outcome::unknown);
  // The run ended before it was due.
  EXPECT_EQ(run("told-in-time", history_of(grant)).outcome, Outcome::holds);
}

// The end of one pause is not the end of another; nobody is excused by a pause of somebody else, or of one
// role.
TEST(ToldInTime, EachPauseEndsByItself) {
  const auto told_at_35 = [](const std::string& pauses) {
    return run("told-in-time", history_of("1 c1/0 ok acquire k id=a valid=10\n" + pauses +
                                          "35 c1/watchdog ok lost k id=a\n40 c2/0 invoke acquire j\n"));
  };
  const std::string longer = "2 nemesis info effect long id=long#1 mode=paused node=c1\n";
  const std::string longer_ends = "34.5 nemesis info effect long id=long#1 mode=resumed node=c1\n";
  const std::string shorter =
      "3 nemesis info effect short id=short#1 mode=paused node=c1\n"
      "4 nemesis info effect short id=short#1 mode=resumed node=c1\n";
  EXPECT_EQ(told_at_35(longer + shorter + longer_ends).outcome, Outcome::holds);
  expect_violated(told_at_35(shorter), "told-late");
  expect_violated(told_at_35("2 nemesis info effect long id=long#1 mode=paused node=c2\n"), "told-late");
  expect_violated(told_at_35("2 nemesis info effect long id=long#1 mode=paused node=c1/watchdog\n"),
                  "told-late");
  EXPECT_EQ(told_at_35(longer).outcome, Outcome::holds) << "a pause that nobody ended";
}

// What telling may take goes on after a pause that begins in the midst of it.
TEST(ToldInTime, APauseInTheMidstOfTellingIsNotCounted) {
  const auto told_at = [](const std::string& when) {
    return run("told-in-time", history_of("1 c1/0 ok acquire k id=a valid=10\n"
                                          "10.5 nemesis info effect gc id=gc#1 mode=paused node=c1\n"
                                          "20 nemesis info effect gc id=gc#1 mode=resumed node=c1\n" +
                                          when + " c1/watchdog ok lost k id=a\n40 c2/0 invoke acquire j\n"));
  };
  EXPECT_EQ(told_at("20.4").outcome, Outcome::holds);
  expect_violated(told_at("20.6"), "told-late");
}

// --- no-foreign-release -----------------------------------------------------------------------------------

std::string foreign_release(const std::string& between) {
  return R"(
    1  c1/0 invoke store-grant k id=c1-1 node=r1
    2  c1/0 ok store-grant k id=c1-1 node=r1 value=1
    10 c2/0 invoke store-grant k id=c2-1 node=r1
    11 c2/0 ok store-grant k id=c2-1 node=r1 value=1
)" + between +
         R"(
    20 c1/0 invoke store-remove k id=c1-1 node=r1
    21 c1/0 ok store-remove k id=c1-1 node=r1 value=1
  )";
}

TEST(NoForeignRelease, RemovalAndExtension) {
  const Verdict verdict = run("no-foreign-release", history_of(foreign_release("")));
  expect_violated(verdict, "foreign-removal");
  EXPECT_EQ(verdict.witnesses[0].events, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  expect_violated(run("no-foreign-release", history_of(R"(
    1  c1/0 invoke store-grant k id=c1-1 node=r1
    2  c1/0 ok store-grant k id=c1-1 node=r1 value=1
    10 c1/1 invoke store-grant k id=c1-2 node=r1
    11 c1/1 ok store-grant k id=c1-2 node=r1 value=1
    20 c1/watchdog invoke store-extend k id=c1-1 node=r1
    21 c1/watchdog ok store-extend k id=c1-1 node=r1 value=1
  )")),
                  "foreign-extension");
  // A release handed the lock over to the other one; later releases handed over nothing.
  expect_violated(run("no-foreign-release", history_of(R"(
    1  c1/0 invoke store-grant k id=c1-1 node=r1
    2  c1/0 ok store-grant k id=c1-1 node=r1 value=1
    10 c3/0 invoke store-grant k node=r1
    11 c3/0 ok store-grant k id=c2-1 node=r1 value=1
    12 c3/0 invoke store-grant k node=r1
    13 c3/0 ok store-grant k node=r1 value=0
    20 c1/0 invoke store-remove k id=c1-1 node=r1
    21 c1/0 ok store-remove k id=c1-1 node=r1 value=1
  )")),
                  "foreign-removal");
  // Granted on another node, before a failover that did not carry the record over.
  expect_violated(run("no-foreign-release", history_of(R"(
    1  c1/0 invoke store-grant k id=c1-1 node=r1
    2  c1/0 ok store-grant k id=c1-1 node=r1 value=1
    5  nemesis info effect p id=p#1 mode=promoted node=r2
    10 c2/0 invoke store-grant k id=c2-1 node=r2
    11 c2/0 ok store-grant k id=c2-1 node=r2 value=1
    20 c1/0 invoke store-remove k id=c1-1 node=r2
    21 c1/0 ok store-remove k id=c1-1 node=r2 value=1
  )")),
                  "foreign-removal");
}

TEST(NoForeignRelease, NoFalseAlarm) {
  for (const char* between : {
           // its own record again
           "12 c1/0 invoke store-grant k id=c1-1 node=r1\n 13 c1/0 ok store-grant k id=c1-1 node=r1 value=1",
           // a grant of its own without an answer
           "12 c1/0 invoke store-grant k id=c1-1 node=r1",
           // handed over to it by a release
           "12 c3/0 invoke store-grant k node=r1\n 13 c3/0 ok store-grant k id=c1-1 node=r1 value=1",
           // handed over; the ledger does not say to whom
           "12 c3/0 invoke store-grant k node=r1",
           // the server lost or swapped its memory
           "12 nemesis info effect kill id=kill#1 mode=crashed node=r1",
           "12 nemesis info effect p id=p#1 mode=promoted node=r2",
           "12 nemesis info effect lag id=lag#1 mode=caught-up node=r1",
           // readers share
           "12 c2/0 ok acquire k id=c2-1 mode=read",
       }) {
    EXPECT_EQ(run("no-foreign-release", history_of(foreign_release(between))).outcome, Outcome::holds)
        << between;
  }
  // Without effect, on its own record, in an unknown order: the other grant was answered after the removal
  // was sent.
  EXPECT_EQ(run("no-foreign-release", history_of(R"(
    1  c1/0 invoke store-grant k id=c1-1 node=r1
    2  c1/0 ok store-grant k id=c1-1 node=r1 value=1
    10 c2/0 invoke store-grant k id=c2-1 node=r1
    11 c1/0 invoke store-remove k id=c1-1 node=r1
    12 c2/0 ok store-grant k id=c2-1 node=r1 value=1
    13 c1/0 ok store-remove k id=c1-1 node=r1 value=1
    20 c1/0 invoke store-remove k id=c1-1 node=r1
    21 c1/0 ok store-remove k id=c1-1 node=r1 value=0
  )"))
                .outcome,
            Outcome::holds);
  EXPECT_EQ(run("no-foreign-release", history_of(kDoubleGrant)).outcome, Outcome::unknown);
}

// Two whose acquires timed out: only the ledger knows of their grants, and that others may have them, too.
TEST(NoForeignRelease, GrantsThatCameTooLateMayBeShared) {
  for (const char* how : {"mode=read", "permits=1"}) {
    const std::string grants = fmt::format(R"(
      1  c1/0 invoke acquire k {0}
      2  l/0 invoke store-grant k id=c1-1 node=r1 {0}
      3  l/0 ok store-grant k id=c1-1 node=r1 {0} value=1
      4  c2/0 invoke acquire k {0}
      5  l/0 invoke store-grant k id=c2-1 node=r1 {0}
      6  l/0 ok store-grant k id=c2-1 node=r1 {0} value=1
      10 c1/0 fail acquire k {0} error=timeout
      11 c2/0 fail acquire k {0} error=timeout
      20 l/0 invoke store-remove k id=c1-1 node=r1
      21 l/0 ok store-remove k id=c1-1 node=r1 value=1
    )",
                                           how);
    EXPECT_EQ(run("no-foreign-release", history_of(grants)).outcome, Outcome::holds) << how;
  }
}

// b waits from 4 on; c and d ask later. `grants` are the lines after that.
History queue_history(const std::string& between, const std::string& grants) {
  return history_of(R"(
    1 a invoke acquire k
    2 a ok acquire k
    3 b invoke acquire k
    4 b ok queue k
  )" + between + R"(
    5 c invoke acquire k
    6 d invoke acquire k
    7 d ok queue k
    8 a invoke release k
    9 a ok release k
  )" + grants);
}
std::string cycle(int time, const std::string& who) {
  return std::to_string(time) + " " + who + " ok acquire k\n" + std::to_string(time + 1) + " " + who +
         " invoke release k\n" + std::to_string(time + 2) + " " + who + " ok release k\n";
}

TEST(FairOrder, CountsWhoComesFirst) {
  const History fair = queue_history("", cycle(10, "b") + cycle(20, "c") + cycle(30, "d"));
  EXPECT_EQ(run("fair-order", fair).outcome, Outcome::holds);
  EXPECT_EQ(run("fair-order", fair).reason,
            "2 of 4 grants had waited: overtaken 0 times at most, promised 0");
  const History unfair = queue_history("", cycle(10, "d") + cycle(20, "c") + cycle(30, "b"));
  const Verdict twice = run("fair-order", unfair);
  expect_violated(twice, "overtaken");
  EXPECT_NE(twice.reason.find("overtaken 2 times at most, promised 0"), std::string::npos) << twice.reason;
  expect_violated(run("fair-order", unfair.subset(twice.witnesses[0].events)), "overtaken");
  EXPECT_EQ(run("fair-order", unfair, {.promised_overtakes = 2}).outcome, Outcome::holds);
  expect_violated(run("fair-order", unfair, {.promised_overtakes = 1}), "overtaken");
  // c had not been told that it waits: d may have come before it.
  EXPECT_EQ(run("fair-order", queue_history("", cycle(10, "b") + cycle(20, "d") + cycle(30, "c"))).outcome,
            Outcome::holds);
}

// b waits, c and d ask later and are granted before it: who of them reads?
TEST(FairOrder, NoReaderOvertakesAReader) {
  const auto judged = [](const std::string& b, const std::string& others) {
    const auto mode = [](const std::string& one) { return " mode=" + one + "\n"; };
    return run("fair-order", history_of("1 a ok acquire k\n2 a invoke release k\n3 b invoke acquire k" +
                                        mode(b) + "4 b ok queue k\n5 c invoke acquire k" + mode(others) +
                                        "6 d invoke acquire k" + mode(others) + "7 c ok acquire k" +
                                        mode(others) + "8 c ok release k\n9 d ok acquire k" + mode(others) +
                                        "10 d ok release k\n11 b ok acquire k" + mode(b)));
  };
  EXPECT_EQ(judged("read", "read").outcome, Outcome::holds);
  for (const auto& [b, others] : {std::pair("read", "write"), {"write", "read"}, {"write", "write"}}) {
    const Verdict verdict = judged(b, others);
    expect_violated(verdict, "overtaken");
    EXPECT_NE(verdict.reason.find("overtaken 2 times"), std::string::npos) << b << others << verdict.reason;
  }
}

TEST(FairOrder, AFailoverResetsTheQueueAndMissingFieldsAreUnknown) {
  const std::string order = cycle(10, "d") + cycle(20, "c") + cycle(30, "b");
  EXPECT_EQ(
      run("fair-order", queue_history("4.5 nemesis info effect kill id=kill#1 mode=crashed node=r1\n", order))
          .outcome,
      Outcome::holds);
  const std::string again = "4.5 nemesis info effect kill id=kill#1 mode=crashed node=r1\n4.7 b ok queue k\n";
  expect_violated(run("fair-order", queue_history(again, order)), "overtaken");
  const Verdict unknown = run("fair-order", history_of("1 a invoke acquire k\n2 a ok acquire k\n"));
  EXPECT_EQ(unknown.outcome, Outcome::unknown);
  EXPECT_EQ(unknown.reason.find("the history has no queue event"), 0U) << unknown.reason;
}

TEST(Linearizable, UnderTheUsualModel) {
  const Verdict leased = run("linearizable", history_of(kDoubleGrant));
  expect_violated(leased, "double-hold");
  EXPECT_EQ(leased.reason, "c2:0 was granted k while c1:0 held it.");
  const History plain = history_of(R"(
    1 a invoke acquire k
    2 a ok acquire k
    3 a invoke acquire k
    4 a ok acquire k
  )");
  EXPECT_EQ(run("linearizable", plain, {.reentrant = true}).outcome, Outcome::holds);
  expect_violated(run("linearizable", plain), "double-hold");
  EXPECT_EQ(run("linearizable", plain, {.model = "nonsense"}).outcome, Outcome::unknown);
}

TEST(Reached, EveryMark) {
  CheckContext context;
  context.required_marks = {"fault.kill", "granted-after-promotion"};
  const History history = history_of("1 nemesis info mark fault.kill\n");
  const Verdict verdict = run("reached", history, context);
  expect_violated(verdict, "not-reached");
  EXPECT_NE(verdict.reason.find("granted-after-promotion"), std::string::npos);
  context.required_marks.pop_back();
  EXPECT_EQ(run("reached", history, context).outcome, Outcome::holds);
}

}  // namespace
}  // namespace holdfast::checker
