#include "checker/checks/summary.h"

#include <gtest/gtest.h>

#include "checker/testing/script_history.h"

namespace holdfast::checker {
namespace {

TEST(Summary, WeighsAPass) {
  const History history = testing::history_of(R"(
    0  c1/0 invoke acquire k
    1  c1/0 ok acquire k id=a valid=11
    2  c2/0 invoke acquire k
    8  c1/0 invoke release k id=a
    9  c1/0 ok release k id=a
    10 c2/0 ok acquire k id=b valid=20
    12 c2/0 invoke release k id=b
    13 c2/0 ok release k id=b
    14 c3/0 invoke acquire k
    15 c3/0 fail acquire k error=timeout
    16 c3/0 invoke acquire j
  )");
  const Summary summary = summarize(history, false);
  EXPECT_EQ(summary.total.grants, 2U);
  EXPECT_EQ(summary.total.contended_grants, 1U);
  EXPECT_EQ(summary.total.held_ns, 9'000'000);
  EXPECT_EQ(summary.total.claimed_ns, 9'000'000);
  EXPECT_EQ(summary.total.longest_wait_ns, 8'000'000);
  EXPECT_EQ(summary.keys.at("k").grants, 2U);
  EXPECT_EQ(to_string(summary),
            "operations  acquire 1 fail 2 ok 1 pending · release 2 ok\n"
            "locks       2 grants, 1 contended, held 9.000 ms, claimed 9.000 ms, longest wait 8.000 ms\n");
}

// Before, only what a lock or a register does was counted.
TEST(Summary, CountsOperationsOfDataStructures) {
  const History history = testing::history_of(R"(
    1 c1/0 invoke append k value=1
    2 c1/0 ok append k value=1
    3 c1/0 invoke dequeue k
    4 c1/0 fail dequeue k
  )");
  EXPECT_EQ(summarize(history, false).operations.at("append").at("ok"), 1U);
  EXPECT_EQ(summarize(history, false).operations.at("dequeue").at("fail"), 1U);
}

}  // namespace
}  // namespace holdfast::checker
