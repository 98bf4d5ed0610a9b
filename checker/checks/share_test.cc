#include <gtest/gtest.h>

#include <string>

#include "checker/checks/check.h"
#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

Verdict share(const History& history, std::int64_t percent) {
  return find_check("share")->run(history, {.least_share_percent = percent});
}

std::string line(int time, const std::string& rest) { return std::to_string(time) + " " + rest + "\n"; }

// `order`: who is granted, one after another ("a" to "z"); all ask at the beginning, and again at once.
History granted(const std::string& order, const std::string& others = "") {
  std::string text;
  std::string seen;
  for (const char c : order + others) {
    if (seen.find(c) == std::string::npos) seen += c;
  }
  int time = 1;
  for (const char c : seen) text += line(time++, std::string(1, c) + " invoke acquire k");
  for (const char c : order) {
    const std::string who(1, c);
    text += line(time++, who + " ok acquire k");
    text += line(time++, who + " invoke release k");
    text += line(time++, who + " ok release k");
    text += line(time++, who + " invoke acquire k");
  }
  return testing::history_of(text);
}

std::string times(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Share, EvenSharesAndUnevenOnes) {
  const Verdict even = share(granted(times(10, "ab")), 100);
  EXPECT_EQ(even.outcome, Outcome::holds);
  EXPECT_EQ(even.reason, "20 grants to 2 clients, 100% of an even share at least, expected 100%");
  const History uneven = granted(times(10, "aab"));
  EXPECT_EQ(share(uneven, 66).outcome, Outcome::holds);
  const Verdict starved = share(uneven, 67);
  ASSERT_EQ(starved.outcome, Outcome::violated);
  EXPECT_EQ(starved.witnesses.front().kind, "starved");
  EXPECT_EQ(
      starved.reason,
      "b was granted 10 of the 30 grants to 2 clients while all of them wanted the lock: 66% of an even "
      "share, expected at least 67%.");
  EXPECT_EQ(share(uneven.subset(starved.witnesses.front().events), 67).outcome, Outcome::violated);
}

TEST(Share, WhoIsNeverGrantedIsStarved) {
  const Verdict verdict = share(granted(times(20, "a"), "b"), 1);
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.violations, 1U);
}

// b has asked for the last time when a goes on: what a gets then is not at the cost of b.
TEST(Share, OnlyTheTimeCountsInWhichAllWantTheLock) {
  std::string text;
  int time = 1;
  const auto round = [&](const std::string& who) {
    for (const char* step : {" invoke acquire k", " ok acquire k", " invoke release k", " ok release k"})
      text += line(time++, who + step);
  };
  for (int i = 0; i < 30; ++i) round("a");  // b has not asked yet
  for (int i = 0; i < 12; ++i) {
    round("b");
    round("a");
  }
  for (int i = 0; i < 30; ++i) round("a");
  EXPECT_EQ(share(testing::history_of(text), 90).outcome, Outcome::holds);
}

TEST(Share, WhatItCannotTellIsUnknown) {
  EXPECT_EQ(share(granted(times(10, "ab")), 0).outcome, Outcome::unknown) << "nobody asks for a share";
  EXPECT_EQ(share(granted(times(20, "a")), 50).outcome, Outcome::unknown) << "one client";
  EXPECT_EQ(share(granted(times(5, "ab")), 50).outcome, Outcome::unknown) << "too few grants";
  EXPECT_EQ(share(testing::history_of(""), 50).outcome, Outcome::unknown);
}

}  // namespace
}  // namespace holdfast::checker
