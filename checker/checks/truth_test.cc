// truth, of histories of a few lines: which records may stand beside each other, and when that is judged.
#include "checker/checks/truth.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

std::vector<std::string> wrong(const std::string& records) {
  const History history = testing::history_of("0 loading/r1 info keyspace - node=r1\n" + records);
  std::vector<std::string> kinds;
  for (const Witness& witness : compare_with_truth(history, {}).wrong) kinds.push_back(witness.kind);
  return kinds;
}
using Kinds = std::vector<std::string>;

constexpr const char* kWriter = "1 command/r1 info record k id=w value=1 valid=100 node=r1\n";

// A downgrade: one command makes the writer a reader and lets a reader in. A server tells its records in the
// order of their names.
TEST(Truth, RecordsOfOneMomentAreJudgedTogether) {
  const std::string reader = " command/r1 info record k id=a mode=read value=1 valid=100 node=r1\n",
                    reads = " command/r1 info record k id=w mode=read value=1 valid=100 node=r1\n";
  EXPECT_EQ(wrong(kWriter + ("2" + reader) + "2" + reads), Kinds{});
  EXPECT_EQ(wrong(kWriter + ("2" + reads) + "2" + reader), Kinds{});
  EXPECT_EQ(wrong(kWriter + ("2" + reader) + "3" + reads), Kinds{"two-records"});
  EXPECT_EQ(wrong(kWriter + ("2" + reader)), Kinds{"two-records"});
}

TEST(Truth, WhatOneCommandLeavesIsJudged) {
  const std::string other = "2 command/r1 info record k id=o value=1 valid=100 node=r1\n",
                    gone = "2 command/r1 info record k id=w value=0 node=r1\n";
  EXPECT_EQ(wrong(kWriter + other), Kinds{"two-records"});
  EXPECT_EQ(wrong(kWriter + other + gone), Kinds{});
  EXPECT_EQ(wrong(kWriter + gone + other), Kinds{});
  EXPECT_EQ(wrong(kWriter + other + "2 command/r1 info record k id=o value=0 node=r1\n"), Kinds{});
}

}  // namespace
}  // namespace holdfast::checker
