// What a failure is called.
#include "sim/hunt/trial.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace holdfast::sim
