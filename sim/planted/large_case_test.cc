// Large failing cases become small ones: how small, and in how many runs.
#include "sim/planted/large_case.h"

#include <gtest/gtest.h>

#include "sim/hunt/shrink.h"
#include "sim/hunt/shrink_decisions.h"
#include "sim/planted/planted.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

void expect_small(const char* lock, const LargeOptions& options) {
  add_planted_kinds();
  const LockKind& kind = *find_lock_kind(lock);
  const std::optional<LargeCase> large = large_case(kind, options);
  ASSERT_TRUE(large) << lock;
  const Size before = size_of(large->one.document);
  EXPECT_GE(before.faults, options.faults - options.faults / 10);
  EXPECT_EQ(before.clients, options.clients);
  const Shrunk shrunk = shrink(ground_of(kind), large->one, large->promise);
  const Size size = size_of(shrunk.one.document);
  EXPECT_TRUE(try_case(shrunk.one).shows(large->promise));
  EXPECT_LE(size.faults, 3u) << to_toml(shrunk.one.document);
  EXPECT_LE(size.tasks, 3u) << to_toml(shrunk.one.document);
  EXPECT_LE(size.operations, 12u) << to_toml(shrunk.one.document);
  EXPECT_LE(shrunk.runs, 3'000u);
  EXPECT_LE(count_of(shrunk.one.changes), 40u);
}

TEST(LargeCases, BecomeSmall) {
  expect_small("setnx-expire", {.seed = 1, .faults = 60, .clients = 20});
  expect_small("redisson-3.13-reentrant", {.seed = 2, .faults = 40, .clients = 16, .goes_on = true});
  expect_small("planted-fenced-last-token-again", {.seed = 3, .faults = 30, .clients = 12});
}

TEST(LargeCases, OneSeedIsOneCase) {
  const LockKind& kind = *find_lock_kind("setnx-expire");
  const auto one = large_case(kind, {.seed = 4, .faults = 20, .clients = 6});
  const auto again = large_case(kind, {.seed = 4, .faults = 20, .clients = 6});
  ASSERT_TRUE(one && again);
  EXPECT_TRUE(same(one->one.document, again->one.document));
  EXPECT_EQ(one->promise, again->promise);
}

}  // namespace
}  // namespace holdfast::sim
