// What a few seeds show becomes a case that every seed shows, by doing it more often.
#include <gtest/gtest.h>

#include "sim/hunt/shrink.h"
#include "sim/planted/planted.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

TEST(RareCases, ShowOnEverySeedWithMoreRounds) {
  add_planted_kinds();
  const LockKind& kind = *find_lock_kind("planted-reentrant-hand-over-half-the-lease");
  const std::string promise = "lease-exclusion/double-grant";
  HuntCase one{.document = parse_toml(R"(schema = 1
name = "rare"
[run]
seeds = "1..20"
[lock]
kind  = "planted-reentrant-hand-over-half-the-lease"
lease = "1s"
renew = false
[workload]
clients = 2
kind    = "critical-section"
rounds  = 2
hold    = "120ms..1100ms"
[network]
latency = "1ms"
[[expect]]
check = "lease-exclusion"
)",
                                      "rare.toml")};
  unsigned shown = 0;
  for (std::uint64_t seed = kSeedsThatShow; seed > 0; --seed) {
    if (!try_case({.document = one.document, .seed = seed}).shows(promise)) continue;
    ++shown;
    one.seed = seed;
  }
  ASSERT_GT(shown, 0u);
  ASSERT_LT(shown, kSeedsThatShow / 2);
  const Shrunk shrunk = shrink(ground_of(kind), one, promise);
  EXPECT_EQ(shrunk.seeds_of_20, kSeedsThatShow) << to_toml(shrunk.one.document);
  EXPECT_TRUE(shrunk.one.changes.empty());
  const Size size = size_of(shrunk.one.document);
  EXPECT_LE(size.tasks, 3u) << to_toml(shrunk.one.document);
  EXPECT_LE(size.operations, 12u) << to_toml(shrunk.one.document);
}

}  // namespace
}  // namespace holdfast::sim
