// Semaphores whose limit changes, in linear time.
#include "checker/linearizability/permit_limits.h"

#include <gtest/gtest.h>

#include "checker/linearizability/linear.h"
#include "checker/linearizability/search.h"
#include "checker/testing/draw_operations.h"

namespace holdfast::checker {
namespace {

DrawOperations few(std::uint64_t seed) {
  DrawOperations draw{.model = "semaphore"};
  draw.operations = 8 + seed % 20;
  draw.clients = static_cast<std::uint32_t>(2 + seed % 5);
  draw.resize = 0.2;
  draw.unknown = seed % 4 == 0 ? 0.1 : 0;
  draw.seed = seed;
  draw.invalid = seed % 2 == 0;
  draw.options.permits = 1 + static_cast<std::int64_t>(seed % 3);
  return draw;
}

TEST(PermitLimits, AgreeWithTheSearch) {
  int decided = 0, violated = 0, falls = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(seed);
    const DrawOperations draw = few(seed);
    const std::vector<Operation> operations = draw_operations(draw);
    const auto model = find_model("semaphore")->make(draw.options);
    std::string why_not;
    const auto linear = linear_semaphore(operations, draw.options.permits, why_not);
    if (!linear) continue;
    const SearchResult searched = search(operations, *model, {.steps = 1'000'000});
    ASSERT_NE(searched.outcome, SearchOutcome::out_of_budget);
    ASSERT_EQ(linear->linearizable, searched.outcome == SearchOutcome::linearizable);
    ++decided;
    const auto limits = permit_limits(operations, draw.options.permits, why_not);
    std::int64_t before = draw.options.permits;
    bool fell = false;
    for (const PermitLimit& each : *limits) {
      fell = fell || each.value < before;
      before = each.value;
    }
    falls += fell ? 1 : 0;
    if (linear->linearizable) continue;
    ++violated;
    if (fell) {
      ASSERT_EQ(linear->stuck, searched.stuck);
    }
  }
  EXPECT_GT(decided, 3500);
  EXPECT_GT(falls, 1500);
  EXPECT_GT(violated, 600);
}

// 20 clients and 2,000 operations: a search that keeps all configurations finds nothing in a minute.
TEST(PermitLimits, AreDecidedInLargeHistories) {
  for (const bool invalid : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(seed);
      DrawOperations draw{.model = "semaphore", .operations = 2000, .clients = 20};
      draw.resize = 0.02;
      draw.seed = seed;
      draw.invalid = invalid;
      draw.options.permits = 6;
      std::string why_not;
      const auto linear = linear_semaphore(draw_operations(draw), draw.options.permits, why_not);
      ASSERT_TRUE(linear) << why_not;
      if (!invalid) {
        EXPECT_TRUE(linear->linearizable);
      }
    }
  }
}

Operation operation(Function f, Symbol process, std::int64_t call, std::int64_t ret,
                    std::int64_t permits = 0) {
  Operation each;
  each.f = f;
  each.process = each.owner = process;
  each.call = call;
  each.ret = ret;
  each.unknown = ret == kForever;
  if (f == Function::resize) each.value = decltype(each.value)(permits);
  return each;
}

// An acquire that is open while the limit falls may have come before it; one that begins later may not.
TEST(PermitLimits, AnAcquireMayComeBeforeTheFall) {
  std::string why_not;
  const Operation fall = operation(Function::resize, 9, 10, 20, 0);
  std::vector<Operation> early = {operation(Function::acquire, 1, 5, 30), fall};
  EXPECT_TRUE(linear_semaphore(early, 1, why_not)->linearizable);
  early = {fall, operation(Function::acquire, 1, 20, 30)};  // at one time: concurrent
  EXPECT_TRUE(linear_semaphore(early, 1, why_not)->linearizable);
  const std::vector<Operation> late = {fall, operation(Function::acquire, 1, 21, 30)};
  EXPECT_FALSE(linear_semaphore(late, 1, why_not)->linearizable);
  EXPECT_EQ(linear_semaphore(late, 1, why_not)->stuck, 1U);
  // Two of them do not fit before it.
  const std::vector<Operation> two = {operation(Function::acquire, 1, 5, 30),
                                      operation(Function::acquire, 2, 6, 31), fall};
  EXPECT_FALSE(linear_semaphore(two, 1, why_not)->linearizable);
  EXPECT_EQ(linear_semaphore(two, 1, why_not)->stuck, 1U);
  EXPECT_TRUE(linear_semaphore(two, 2, why_not)->linearizable);
}

// What cannot be told in linear time is left to the search.
TEST(PermitLimits, GiveUpWhereThereIsAChoice) {
  std::string why_not;
  EXPECT_FALSE(linear_semaphore(
      {operation(Function::resize, 8, 1, 10, 3), operation(Function::resize, 9, 5, 12, 1)}, 1, why_not));
  EXPECT_EQ(why_not, "numbers of permits that are set at one time");
  EXPECT_FALSE(linear_semaphore(
      {operation(Function::resize, 8, 1, kForever, 3), operation(Function::resize, 9, 5, 12, 1)}, 1,
      why_not));
  // One that never makes room need not happen.
  EXPECT_TRUE(linear_semaphore(
      {operation(Function::resize, 8, 1, kForever, 1), operation(Function::resize, 9, 5, 12, 2)}, 1,
      why_not));
}

}  // namespace
}  // namespace holdfast::checker
