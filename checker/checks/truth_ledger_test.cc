// The ledger as the comparison reads it: what one command did is one time of forwarding.
#include "checker/checks/truth_ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

using testing::history_of;

std::vector<TruthEntry> entries_of(const History& history) {
  const TruthLedger ledger = read_truth_ledger(history);
  EXPECT_EQ(ledger.size(), 1u);
  return ledger.empty() ? std::vector<TruthEntry>() : ledger.begin()->second;
}

// The answer names two more owners than the request could: their entries stand at the answer.
const char* const kReleaseThatMakesThree = R"(
  1 ledger/0 invoke store-remove k id=a owner=c1 node=r1
  1 ledger/1 invoke store-grant k owner=c1 node=r1
  3 ledger/0 ok store-remove k id=a owner=c1 node=r1 value=1
  3 ledger/1 ok store-grant k id=b owner=c1 node=r1 value=1
  3 ledger/0 invoke store-grant k owner=c1 node=r1
  3 ledger/0 ok store-grant k id=c owner=c1 node=r1 value=1
  3 ledger/0 invoke store-grant k owner=c1 node=r1
  3 ledger/0 ok store-grant k id=d owner=c1 node=r1 value=1
)";

TEST(TruthLedger, OwnersThatOneReleaseMakesWereMadeWhenItWasForwarded) {
  const std::vector<TruthEntry> entries = entries_of(history_of(kReleaseThatMakesThree));
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].f, Function::store_remove);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(entries[i].f, Function::store_grant);
    EXPECT_EQ(entries[i].forwarded, 1u) << i;
    EXPECT_TRUE(entries[i].covers(2)) << i;
    EXPECT_TRUE(entries[i].some) << i;
  }
  EXPECT_NE(entries[2].id, entries[1].id);
}

// Another client's, another server's, or one that was answered later, is a command of its own.
TEST(TruthLedger, AGrantBehindAnotherCommandsAnswerIsOfItsOwnTime) {
  const char* const others[] = {
      "3 ledger/0 invoke store-grant k id=c owner=c2 node=r1\n3 ledger/0 ok store-grant k id=c owner=c2 "
      "node=r1 "
      "value=1\n",
      "3 ledger/0 invoke store-grant k id=c owner=c1 node=r1\n4 ledger/0 ok store-grant k id=c owner=c1 "
      "node=r1 "
      "value=1\n",
      "3 ledger/0 invoke store-grant k id=c owner=c1 node=r1\n"};
  for (const char* other : others) {
    const std::vector<TruthEntry> entries = entries_of(history_of(std::string(R"(
  1 ledger/1 invoke store-grant k id=b owner=c1 node=r1
  3 ledger/1 ok store-grant k id=b owner=c1 node=r1 value=1
)") + other));
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[1].forwarded, 2u) << other;
  }
}

TEST(TruthLedger, WhatWasRefusedHadNoEffectAndWhatIsOpenMay) {
  const std::vector<TruthEntry> entries = entries_of(history_of(R"(
  1 ledger/0 invoke store-grant k id=a owner=c1 node=r1
  2 ledger/0 ok store-grant k id=a owner=c1 node=r1 value=0
  3 ledger/0 invoke store-remove k id=a owner=c1 node=r1
  4 ledger/0 info store-remove k id=a owner=c1 node=r1
  5 ledger/0 invoke store-extend k id=a owner=c1 node=r1
)"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_TRUE(entries[0].none);
  EXPECT_FALSE(entries[0].some);
  EXPECT_FALSE(entries[1].none || entries[1].some);
  EXPECT_FALSE(entries[2].none || entries[2].some);
  EXPECT_EQ(entries[2].answered, kNowhere);
}

}  // namespace
}  // namespace holdfast::checker
