// Holds and claims: where they begin and end.
#include "checker/holds/holds.h"

#include <gtest/gtest.h>

#include <string>

#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::history_of;

constexpr std::int64_t kMs = 1'000'000;

TEST(Holds, ReentryEndsWithTheOutermostRelease) {
  const History history = history_of(R"(
    1 c1/0 ok acquire k id=a owner=o valid=10
    2 c1/0 ok acquire k id=a owner=o valid=12
    3 c1/0 invoke release k id=a owner=o
    4 c1/0 ok release k id=a owner=o
    5 c1/0 invoke release k id=a owner=o
  )");
  EXPECT_EQ(build_holds(history, false).size(), 2U);  // a strict lock granted it twice
  const auto holds = build_holds(history, true);
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].to_ns, 5 * kMs);
  EXPECT_EQ(holds[0].valid_until_ns, 12 * kMs);
  EXPECT_EQ(holds[0].end, HoldEnd::released);
}

TEST(Holds, ALateRenewalDoesNotRevive) {
  const History history = history_of(R"(
    1  c1/0 ok acquire k id=a valid=10
    9  c1/watchdog invoke renew k id=a
    10 c1/watchdog ok renew k id=a valid=20
    21 c1/watchdog ok renew k id=a valid=30
    25 c1/watchdog ok lost k id=a
    26 c1/0 invoke release k id=a
  )");
  const auto holds = build_holds(history, false);
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].valid_until_ns, 20 * kMs);
  EXPECT_EQ(holds[0].to_ns, 25 * kMs);
  EXPECT_EQ(holds[0].end, HoldEnd::told_lost);
}

TEST(Holds, CrashDowngradeUnknownAndFailedReleases) {
  const History history = history_of(R"(
    1 c1/0 ok acquire k id=a
    2 c2/0 ok acquire j id=b mode=write
    3 c2/0 ok acquire j id=b mode=read
    3 c2/0 invoke release j id=b mode=write
    4 c1   info crash -
    5 c3/0 ok acquire k id=c
    6 c3/0 ok acquire k id=c
    7 c3/0 invoke release k id=c
    8 c3/0 fail release k id=c error=not-owner
    9 c4/0 info acquire k id=d
  )");
  const auto holds = build_holds(history, true);
  ASSERT_EQ(holds.size(), 4U);
  EXPECT_EQ(holds[0].end, HoldEnd::crashed);
  EXPECT_EQ(holds[0].to_ns, 4 * kMs);
  EXPECT_EQ(holds[1].end, HoldEnd::released);  // a writer that reads gives back what it wrote under
  EXPECT_TRUE(holds[2].shared);
  EXPECT_EQ(holds[2].to_ns, kForever);
  EXPECT_EQ(holds[3].to_ns, 7 * kMs);  // a release that failed ends it at its invocation, at any depth
}

TEST(Holds, WhatNamesTheAcquisitionOfAWriterThatReadsMeansBothHolds) {
  const auto after = [](const std::string& events) {
    auto holds = build_holds(history_of(R"(
    1 c1/0 ok acquire k id=a owner=o mode=write valid=10
    2 c1/0 ok acquire k id=a owner=o mode=read valid=10
)" + events),
                             true);
    EXPECT_EQ(holds.size(), 2U);
    return holds;
  };
  const auto held = after("");
  EXPECT_TRUE(held[1].continues(held[0]));
  EXPECT_FALSE(held[0].continues(held[1]));
  const auto renewed = after("3 c1/watchdog invoke renew k id=a\n4 c1/watchdog ok renew k id=a valid=20\n");
  EXPECT_EQ(renewed[0].valid_until_ns, 20 * kMs);
  EXPECT_EQ(renewed[1].valid_until_ns, 20 * kMs);
  for (const auto& lost : {after("3 c1/watchdog ok lost k id=a\n"),
                           after("3 c1/0 invoke release k id=a owner=o mode=write\n"
                                 "4 c1/0 fail release k id=a owner=o mode=write error=not-owner\n")}) {
    EXPECT_EQ(lost[0].to_ns, 3 * kMs);
    EXPECT_EQ(lost[1].to_ns, 3 * kMs);
  }
  // Without its name it may mean one of them, or the other: the newer one.
  const auto unnamed = after("3 c1/watchdog ok lost k\n");
  EXPECT_EQ(unnamed[0].to_ns, kForever);
  EXPECT_EQ(unnamed[1].to_ns, 3 * kMs);
  // The writing is over: what is renewed is the reading.
  const auto reads = after(
      "3 c1/0 invoke release k id=a owner=o mode=write\n4 c1/0 ok release k id=a owner=o mode=write\n"
      "5 c1/watchdog invoke renew k id=a\n6 c1/watchdog ok renew k id=a valid=20\n");
  EXPECT_EQ(reads[0].valid_until_ns, 10 * kMs);
  EXPECT_EQ(reads[1].valid_until_ns, 20 * kMs);
}

TEST(Holds, WithoutIdsTheOwnerIsTheProcess) {
  const History history = history_of(R"(
    1 3 ok acquire k
    2 3 ok acquire k
    3 3 invoke release k
  )");
  EXPECT_EQ(build_holds(history, false).size(), 2U);
  const auto reentrant = build_holds(history, true);
  ASSERT_EQ(reentrant.size(), 1U);
  EXPECT_EQ(reentrant[0].to_ns, kForever);
}

}  // namespace
}  // namespace holdfast::checker
