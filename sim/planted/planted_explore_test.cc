// The reduction of explorations, on planted versions of our locks: within a tiny bound it comes to the same
// histories as the full search, and to a broken promise where that comes to one, and nowhere else.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/explore/explore.h"
#include "sim/planted/planted.h"
#include "sim/scenario/parse_scenario.h"

namespace holdfast::sim {
namespace {

ExploreOptions tiny(const LockKind& kind) {
  ExploreOptions options{.ground = ground_of(kind), .deviations = 1, .twice = false};
  options.ground.given = parse_toml(R"(
[run]
time = "20s"
[lock]
lease = "500ms"
[workload]
kind    = "critical-section"
clients = 2
rounds  = 2
hold    = "20ms"
think   = "0s"
[network]
latency = "1ms..600ms"
[[fault]]
id     = "die"
kind   = "crash"
client = "$client"
after  = { message = "EVALSHA", nth = "1..24" }
)",
                                    "tiny.toml");
  return options;
}

struct Found {
  std::string promise;
  std::uint32_t deviations = 0;
  std::set<std::uint64_t> histories;
  ExploreState state;
};

Found found_in(ExploreOptions options, bool reduce) {
  Found found;
  options.reduce = reduce;
  options.told = [&](const Trial&, std::uint64_t history) { found.histories.insert(history); };
  found.state = explore(options);
  found.deviations = found.state.search.deviations;
  if (found.state.violation) found.promise = found.state.violation->failure.promise();
  return found;
}

bool is_of(const PlantedVersion& version, const std::set<std::string_view>& bases) {
  return bases.contains(version.base) && version.make_latches == nullptr;
}

void compare(const std::set<std::string_view>& bases, std::size_t every) {
  add_planted_kinds();
  std::size_t number = 0, whole = 0;
  for (const PlantedVersion& version : planted_versions()) {
    if (!is_of(version, bases) || number++ % every != 0) continue;
    const ExploreOptions options = tiny(*find_lock_kind("planted-" + std::string(version.name)));
    const Found full = found_in(options, false), reduced = found_in(options, true);
    EXPECT_EQ(full.promise.empty(), reduced.promise.empty())
        << version.name << ": " << full.promise << ", reduced: " << reduced.promise;
    EXPECT_LE(reduced.state.search.runs, full.state.search.runs) << version.name;
    if (full.promise.empty()) {
      EXPECT_EQ(full.histories, reduced.histories) << version.name;
      ++whole;
    } else {
      EXPECT_EQ(full.deviations, reduced.deviations) << version.name;
    }
  }
  EXPECT_GT(whole, 0u);
}

TEST(PlantedExplore, TheReductionFindsWhatTheFullSearchFinds) {
  compare({"reentrant", "fair", "read-write", "semaphore"}, 12);
}

TEST(LongPlantedExplore, TheReductionFindsWhatTheFullSearchFindsOfAll) {
  compare({"reentrant", "fenced", "fair", "spin", "read-write", "semaphore", "permit-semaphore"}, 1);
}

}  // namespace
}  // namespace holdfast::sim
