// The reduction of explorations, on planted versions of our locks: within a tiny bound it comes to the same
// histories as the full search, and to the same broken promises, and to none where that comes to none.
#include <gtest/gtest.h>

#include <map>
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
  std::set<std::string> promises;
  std::set<std::uint64_t> histories;
  SearchState search;
};

// All that is broken, not only what is first.
Found found_in(ExploreOptions options, bool reduce) {
  Found found;
  options.reduce = reduce;
  options.go_on = true;
  options.told = [&](const Trial& trial, std::uint64_t history) {
    found.histories.insert(history);
    for (const Failure& failure : trial.failures) found.promises.insert(failure.promise());
  };
  found.search = explore(options).search;
  return found;
}

// The promises that both searches see broken.
std::set<std::string> compare(const LockKind& kind) {
  const ExploreOptions options = tiny(kind);
  const Found full = found_in(options, false), reduced = found_in(options, true);
  EXPECT_TRUE(full.search.complete && reduced.search.complete) << kind.name;
  EXPECT_EQ(full.promises, reduced.promises) << kind.name;
  EXPECT_EQ(full.histories, reduced.histories) << kind.name;
  EXPECT_LT(reduced.search.runs, full.search.runs) << kind.name;
  return full.promises;
}

const LockKind& planted(const std::string& name) {
  add_planted_kinds();
  return *find_lock_kind("planted-" + name);
}

// What they break is known; the locks that they are wrong versions of break nothing.
TEST(PlantedExplore, TheReductionSeesWhatTheFullSearchSees) {
  const std::map<std::string, std::set<std::string>> broken = {
      {"reentrant-hand-over-and-delete", {"lease-exclusion/double-grant", "truth/ledger-wrong"}},
      {"reentrant-deaf-waiter-served", {"at-rest/no-expiry"}},
      {"fenced-short-way-overwrites", {"lease-exclusion/double-grant", "truth/record-overwritten"}},
      {"fair-dead-head-stays", {"at-rest/not-free"}},
      {"fair-short-way-past-the-queue", {"fair-order/overtaken"}},
  };
  for (const auto& [name, promises] : broken) EXPECT_EQ(compare(planted(name)), promises) << name;
  for (const char* const sound : {"reentrant", "fenced", "fair"})
    EXPECT_EQ(compare(*find_lock_kind(sound)), std::set<std::string>()) << sound;
}

// The comparison can fail, on a lock and a promise: this version reckons its lease from the reply, so that
// its record expires while it still holds. A reduction is planted that takes states for equal in which
// clients and connections went through different things, as if that followed from the server's past.
TEST(PlantedExplore, AStateThatForgetsClientsMissesWhatTheFullSearchSees) {
  ExploreOptions options = tiny(planted("reentrant-grant-counts-from-reply"));
  const std::set<std::string> broken = {"truth/record-expired"};
  const Found full = found_in(options, false), reduced = found_in(options, true);
  EXPECT_EQ(full.promises, broken);
  EXPECT_EQ(reduced.promises, broken);
  EXPECT_EQ(full.histories, reduced.histories);
  options.forgotten = {"c1", "c2", "connection/"};
  const Found wrong = found_in(options, true);
  EXPECT_TRUE(wrong.search.complete) << "it believes that it saw all";
  EXPECT_EQ(wrong.promises, std::set<std::string>());
  EXPECT_LT(wrong.histories.size(), full.histories.size());
}

// Nor does what a server went through follow from what the others did: they may learn of it only later.
TEST(PlantedExplore, AStateThatForgetsTheServerMissesHistories) {
  ExploreOptions options = tiny(planted("reentrant-hand-over-and-delete"));
  const Found full = found_in(options, false);
  options.forgotten = {"r1"};
  EXPECT_LT(found_in(options, true).histories.size(), full.histories.size());
}

TEST(LongPlantedExplore, TheReductionSeesWhatTheFullSearchSeesOfAll) {
  const std::set<std::string_view> bases = {"reentrant", "fenced",          "fair", "spin", "read-write",
                                            "semaphore", "permit-semaphore"};
  std::size_t broke = 0;
  for (const PlantedVersion& version : planted_versions()) {
    if (!bases.contains(version.base) || version.make_latches != nullptr) continue;
    if (!compare(planted(std::string(version.name))).empty()) ++broke;
  }
  EXPECT_GT(broke, 5u);
}

}  // namespace
}  // namespace holdfast::sim
