// What a failure is called.
#include "sim/hunt/trial.h"

#include <gtest/gtest.h>

#include <chrono>

#include "sim/client/lock_kind.h"
#include "sim/hunt/hunt.h"
#include "sim/scenario/document.h"

namespace holdfast::sim {
namespace {

// The answer to the first of two nested releases is lost, the script is sent again, and counts twice.
constexpr const char* kSentTwice = R"(
schema = 1
name   = "sent-twice"
[lock]
kind  = "redisson-3.13-reentrant"
lease = "6s"
[workload]
kind    = "critical-section"
clients = 2
rounds  = 3
depth   = 2
hold    = "300ms..400ms"
[network]
latency = "200us..2ms"
[[fault]]
id      = "lost"
kind    = "KIND"
command = "EVALSHA"
client  = "$client"
after   = { event = "lock.releasing", nth = 3 }
[[expect]]
check = "lease-exclusion"
)";

Trial played(const std::string& fault) {
  std::string text = kSentTwice;
  text.replace(text.find("KIND"), 4, fault);
  HuntCase one;
  one.document = parse_toml(text, "sent-twice.toml");
  return try_case(one);
}

TEST(Trial, WhatALostAnswerBrokeIsNamedSo) {
  const Trial trial = played("reset-after-request");
  ASSERT_EQ(trial.failures.size(), 1u);
  EXPECT_EQ(trial.failures[0].name(), "lease-exclusion/double-grant (answer lost)");
}

TEST(Trial, ACommandThatDidNotArriveIsNoLostAnswer) {
  EXPECT_TRUE(played("reset-before-request").failures.empty());
}

// A lock whose lease depends on how many were made in this process: no case of it runs twice in one way. The
// first green run is repeated, and each thousandth.
TEST(Trial, AHuntRepeatsARunNowAndThen) {
  static int made = 0;
  LockKind kind = *find_lock_kind("reentrant");
  kind.name = "planted-without-determinism";
  kind.make = [](const LockSpaceOptions& options) {
    LockSpaceOptions changed = options;
    changed.lock.lease += std::chrono::milliseconds(++made);
    return find_lock_kind("reentrant")->make(changed);
  };
  if (find_lock_kind(kind.name) == nullptr) add_hidden_lock_kinds({kind});
  const Ground ground = ground_of(*find_lock_kind("planted-without-determinism"));
  const HuntState state = hunt({.ground = ground, .seed = 1, .runs = 64});
  EXPECT_TRUE(state.finds.contains("harness/two-histories")) << state.finds.size();
}

}  // namespace
}  // namespace holdfast::sim
