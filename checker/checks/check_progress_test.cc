// progress: who waits for a free key is granted it in time, calls settle, and owners do not wait for each
// other.
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

// --- progress ---------------------------------------------------------------------------------------------

CheckContext progress_context(double end_ms, bool by_itself = true) {
  CheckContext context;
  context.lease_ns = 100 * kMs;
  context.progress_bound_ns = 50 * kMs;
  context.end_ns = static_cast<std::int64_t>(end_ms * 1e6);
  context.run_ended_by_itself = by_itself;
  return context;
}

TEST(Progress, AStallIsFoundAndOnlyThen) {
  const std::string head = R"(
    1  c1/0 ok acquire k id=a
    2  c2/0 invoke acquire k
    10 c1/0 invoke release k id=a
    11 c1/0 ok release k id=a
  )";
  const Verdict verdict = run("progress", history_of(head), progress_context(161));
  expect_violated(verdict, "stall");
  EXPECT_EQ(verdict.witnesses[0].from_ns, 10 * kMs);
  EXPECT_EQ(run("progress", history_of(head), progress_context(159, false)).outcome, Outcome::unknown);
  EXPECT_EQ(run("progress", history_of(head + "150 c2/0 ok acquire k id=b\n"), progress_context(900)).outcome,
            Outcome::holds);
  expect_violated(run("progress", history_of(head + "170 c2/0 ok acquire k id=b\n"), progress_context(900)),
                  "stall");
  // No stall: a client holds the key; the waiter is dead; no client waits.
  EXPECT_EQ(run("progress", history_of(head + "12 c3/0 ok acquire k id=c\n"), progress_context(900)).outcome,
            Outcome::holds);
  EXPECT_EQ(run("progress", history_of(head + "12 c2 info crash -\n"), progress_context(900)).outcome,
            Outcome::holds);
  EXPECT_EQ(
      run("progress", history_of(head + "12 c2/0 fail acquire k error=timeout\n"), progress_context(900))
          .outcome,
      Outcome::holds);
  // A holder that died holds no more.
  expect_violated(
      run("progress", history_of("1 c1/0 ok acquire k id=a\n2 c2/0 invoke acquire k\n3 c1 info crash -\n"),
          progress_context(900)),
      "stall");
  EXPECT_EQ(run("progress", History(), progress_context(900)).outcome, Outcome::unknown);
}

// Calls that give up before the bound, or fail at once, add up; the time between them does not count.
TEST(Progress, WhoAsksAgainGoesOnWaiting) {
  const std::string head = R"(
    1   c1/0 ok acquire k id=a
    10  c1/0 invoke release k id=a
    11  c1/0 ok release k id=a
    12  c2/0 invoke acquire k
    72  c2/0 fail acquire k error=timeout
    180 c2/0 invoke acquire k
    240 c2/0 fail acquire k error=broken
  )";
  const std::string third = "300 c2/0 invoke acquire k\n";
  const History history = history_of(head + third + "331 c2/0 info acquire k error=broken\n");
  const Verdict verdict = run("progress", history, progress_context(900));
  expect_violated(verdict, "stall");
  EXPECT_EQ(verdict.violations, 1u);
  EXPECT_EQ(verdict.witnesses[0].from_ns, 12 * kMs);
  EXPECT_EQ(verdict.witnesses[0].to_ns, 331 * kMs);
  EXPECT_NE(verdict.reason.find("c2/0 waited for it, in 3 calls one after another, but"), std::string::npos)
      << verdict.reason;
  expect_violated(run("progress", history.subset(verdict.witnesses[0].events), progress_context(900)),
                  "stall");
  // Not long enough: nobody asked between the calls.
  EXPECT_EQ(run("progress", history_of(head + third + "329 c2/0 fail acquire k error=timeout\n"),
                progress_context(900))
                .outcome,
            Outcome::holds);
  EXPECT_EQ(run("progress", history_of(head + third), progress_context(329, false)).outcome,
            Outcome::unknown);
  // Somebody had it meanwhile, while nobody waited or while one did.
  for (const char* const had : {"250 c3/0 ok acquire k id=c\n", "310 c3/0 ok acquire k id=c\n"}) {
    EXPECT_EQ(run("progress",
                  history_of(head + had + third +
                             "320 c3/0 invoke release k id=c\n321 c3/0 ok release k id=c\n"
                             "400 c2/0 fail acquire k error=timeout\n"),
                  progress_context(900))
                  .outcome,
              Outcome::holds)
        << had;
  }
}

// A few calls show it, of whomever; those beside them add nothing.
TEST(Progress, AsFewCallsAsShowAStall) {
  const History history = history_of(R"(
    1   c1/0 invoke acquire k
    20  c2/0 invoke acquire k
    30  c3/0 invoke acquire k
    60  c1/0 fail acquire k error=timeout
    70  c3/0 fail acquire k error=timeout
    90  c2/0 fail acquire k error=timeout
    200 c3/0 invoke acquire k
    290 c3/0 fail acquire k error=timeout
  )");
  const Verdict verdict = run("progress", history, progress_context(900));
  expect_violated(verdict, "stall");
  EXPECT_EQ(verdict.witnesses[0].events, (std::vector<std::size_t>{0, 1, 3, 5, 6, 7}));
  EXPECT_NE(verdict.reason.find("c1/0 and others waited for it, in 3 calls"), std::string::npos)
      << verdict.reason;
}

// Who reads stands in the way of writers only; and a writer that waits may be why a reader does.
TEST(Progress, AReaderThatWaitsBesideReadersIsStalled) {
  const std::string head = R"(
    1  c1/0 ok acquire k id=a mode=write
    2  c2/0 invoke acquire k mode=read
    9  c1/0 ok acquire k id=a mode=read
    10 c1/0 invoke release k id=a mode=write
    11 c1/0 ok release k id=a mode=write
  )";
  const Verdict verdict = run("progress", history_of(head), progress_context(900));
  expect_violated(verdict, "stall");
  EXPECT_EQ(verdict.witnesses[0].from_ns, 10 * kMs);
  EXPECT_NE(verdict.reason.find("only readers held k"), std::string::npos) << verdict.reason;
  for (const char* const reason :
       {"150 c2/0 ok acquire k id=b mode=read\n", "12 c3/0 invoke acquire k mode=write\n",
        "12 c3/0 ok acquire k id=c mode=write\n"}) {
    EXPECT_EQ(run("progress", history_of(head + reason), progress_context(900)).outcome, Outcome::holds)
        << reason;
  }
  // A writer that waits beside a reader waits for it.
  EXPECT_EQ(
      run("progress", history_of("1 c1/0 ok acquire k id=a mode=read\n2 c2/0 invoke acquire k mode=write\n"),
          progress_context(900))
          .outcome,
      Outcome::holds);
  // The writer that came between has given up.
  expect_violated(run("progress",
                      history_of(head + "12 c3/0 invoke acquire k mode=write\n"
                                        "20 c3/0 fail acquire k mode=write error=timeout\n"),
                      progress_context(900)),
                  "stall");
}

TEST(Progress, WhoWaitsForItselfIsInADeadlock) {
  const std::string head = "1 c1/0 ok acquire k id=a owner=c1:0\n2 c1/0 invoke acquire k owner=c1:0\n";
  const Verdict verdict = run("progress", history_of(head), progress_context(900));
  expect_violated(verdict, "deadlock");
  EXPECT_NE(verdict.reason.find("c1:0 waits for k, which c1:0 holds"), std::string::npos) << verdict.reason;
  EXPECT_EQ(run("progress", history_of(head), progress_context(100, false)).outcome, Outcome::unknown);
  // Its lease was over, and another one has it; it was granted in the end.
  for (const char* const reason :
       {"50 c2/0 ok acquire k id=b owner=c2:0\n", "50 c1/0 ok acquire k id=b owner=c1:0\n"}) {
    EXPECT_EQ(run("progress", history_of(head + reason), progress_context(900)).outcome, Outcome::holds)
        << reason;
  }
  // Who waits for it, too, adds nothing: it is one circle of one.
  const Verdict beside =
      run("progress",
          history_of("1 c2/0 ok acquire k id=a owner=c2:0\n2 c2/0 invoke acquire k owner=c2:0\n"
                     "3 c1/0 invoke acquire k owner=c1:0\n4 c3/0 invoke acquire k owner=c3:0\n"),
          progress_context(900));
  expect_violated(beside, "deadlock");
  EXPECT_EQ(beside.violations, 1u);
  EXPECT_FALSE(beside.witnesses[0].events.empty());
  // Another thread of its client.
  EXPECT_EQ(
      run("progress", history_of("1 c1/0 ok acquire k id=a owner=c1:0\n2 c1/1 invoke acquire k owner=c1:1\n"),
          progress_context(900))
          .outcome,
      Outcome::holds);
  // Of a semaphore others have permits, too.
  CheckContext semaphore = progress_context(900);
  semaphore.permits = 2;
  EXPECT_EQ(run("progress", history_of(head), semaphore).outcome, Outcome::holds);
}

// Who leaves a hold and does not give it back relies on the end of its lease.
TEST(Progress, AHoldThatWasLeftEndsWithItsLease) {
  const std::string head = R"(
    1  c1/0 ok acquire k id=a valid=40
    2  c1/1 invoke acquire k
  )";
  EXPECT_EQ(run("progress", history_of(head), progress_context(900)).outcome, Outcome::holds);
  const Verdict verdict =
      run("progress", history_of(head + "20 c1/0 ok leave k id=a\n"), progress_context(900));
  expect_violated(verdict, "stall");
  EXPECT_EQ(verdict.witnesses[0].from_ns, 40 * kMs);
  EXPECT_EQ(
      run("progress", history_of(head + "800 c1/0 ok leave k id=a\n"), progress_context(900, false)).outcome,
      Outcome::unknown);
  // It works under it again.
  EXPECT_EQ(run("progress", history_of(head + "20 c1/0 ok leave k id=a\n25 c1/0 ok read s id=a value=1\n"),
                progress_context(900))
                .outcome,
            Outcome::holds);
  // Renewed: no-abandoned-hold judges that.
  EXPECT_EQ(run("progress",
                history_of(head + "20 c1/0 ok leave k id=a\n30 c1/watchdog ok renew k id=a valid=2000\n"),
                progress_context(900))
                .outcome,
            Outcome::holds);
}

TEST(Progress, TheClockStartsAfterTheLastFault) {
  const std::string head = R"(
    2  c2/0 invoke acquire k
    3  nemesis info fault cut value=1 error=partition
    800 nemesis info fault cut value=0 error=partition
  )";
  EXPECT_EQ(
      run("progress", history_of(head + "940 c2/0 ok acquire k id=b\n"), progress_context(1000)).outcome,
      Outcome::holds);
  expect_violated(run("progress", history_of(head), progress_context(1000)), "stall");
  const std::string forever = "1 nemesis info fault cut value=1 error=partition\n2 c2/0 invoke acquire k\n";
  EXPECT_EQ(run("progress", history_of(forever), progress_context(1000)).outcome, Outcome::unknown);
  // What was over at once needs no healing; what was killed was started by another fault; one act of two is
  // healed.
  expect_violated(
      run("progress",
          history_of("1 nemesis info fault p id=p#1 value=1 mode=at-once error=x\n2 c2/0 invoke acquire k\n"),
          progress_context(1000)),
      "stall");
  const std::string killed =
      "1 nemesis info fault kill id=kill#1 value=1 error=x\n1 nemesis info effect kill id=kill#1 "
      "mode=crashed node=r1\n"
      "2 c2/0 invoke acquire k\n";
  EXPECT_EQ(run("progress", history_of(killed), progress_context(1000)).outcome, Outcome::unknown);
  expect_violated(
      run("progress", history_of(killed + "3 nemesis info effect again id=again#1 mode=restarted node=r1\n"),
          progress_context(1000)),
      "stall");
  const std::string twice =
      "1 nemesis info fault f id=f#1 value=1 error=x\n2 nemesis info fault f id=f#2 value=1 error=x\n"
      "3 c2/0 invoke acquire k\n4 nemesis info fault f id=f#1 value=0 error=x\n";
  EXPECT_EQ(run("progress", history_of(twice), progress_context(1000)).outcome, Outcome::unknown);
}

// From the mark on, what is broken is to be borne: neither does its end count, nor that it has none.
TEST(Progress, WhatActsSinceTheMarkOfLivenessIsBorne) {
  const std::string head = R"(
    1  nemesis info fault f value=1
    2  c1/0 ok acquire k id=a
    3  c2/0 invoke acquire k
    10 c1/0 invoke release k id=a
    11 c1/0 ok release k id=a
  )";
  const std::string mark = "20 nemesis info mark liveness\n", healed = "100 nemesis info fault f value=0\n";
  EXPECT_EQ(run("progress", history_of(head), progress_context(900)).outcome, Outcome::unknown);
  const Verdict verdict = run("progress", history_of(head + mark), progress_context(180));
  expect_violated(verdict, "stall");
  EXPECT_EQ(verdict.witnesses[0].from_ns, 20 * kMs);
  expect_violated(run("progress", history_of(head + mark + healed), progress_context(180)), "stall");
  EXPECT_NE(run("progress", history_of(head + healed), progress_context(180)).outcome, Outcome::violated);
  // One that begins after it is not borne.
  const std::string later = "90 nemesis info fault g id=g value=1\n100 nemesis info fault g id=g value=0\n";
  EXPECT_NE(run("progress", history_of(head + mark + later), progress_context(240)).outcome,
            Outcome::violated);
  expect_violated(run("progress", history_of(head + mark + later), progress_context(260)), "stall");
}

TEST(Progress, OwnersThatWaitForEachOther) {
  const std::string circle = R"(
    1  c1/0 invoke acquire a owner=c1:0
    2  c1/0 ok acquire a id=c1-1 owner=c1:0
    3  c2/0 invoke acquire b owner=c2:0
    4  c2/0 ok acquire b id=c2-1 owner=c2:0
    5  c1/0 invoke acquire b owner=c1:0
    6  c2/0 invoke acquire a owner=c2:0
  )";
  const Verdict verdict = run("progress", history_of(circle), progress_context(1000));
  expect_violated(verdict, "deadlock");
  EXPECT_EQ(
      verdict.reason,
      "c1:0 waits for b, which c2:0 holds; c2:0 waits for a, which c1:0 holds: from 5.000 ms on none of them "
      "could go on.");
  CheckContext cut = progress_context(100);
  cut.run_ended_by_itself = false;
  EXPECT_EQ(run("progress", history_of(circle), cut).outcome, Outcome::unknown);
  // A chain is no circle, and who gave up or died does not wait.
  for (const char* const end : {"7 c2/0 fail acquire a owner=c2:0", "7 c2 info crash -"}) {
    EXPECT_NE(run("progress", history_of(circle + end + "\n"), progress_context(100)).outcome,
              Outcome::violated)
        << end;
  }
}

TEST(Progress, AReleaseThatNeverSettles) {
  const History history = history_of(R"(
    0  c1/0 invoke acquire k
    1  c1/0 ok acquire k id=a
    10 c1/0 invoke release k id=a
  )");
  expect_violated(run("progress", history, progress_context(900)), "unsettled-call");
  EXPECT_EQ(run("progress", history, progress_context(100)).outcome, Outcome::holds);
}

}  // namespace
}  // namespace holdfast::checker
