// The ledger knows what every script of a hardened lock answers: whole runs of each, under contention, agree
// with what the clients were told.
#include "sim/client/record_scripts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/store/sharded_scripts.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

redis::Reply integer(std::int64_t value) {
  redis::Reply reply;
  reply.type = redis::Reply::Type::integer;
  reply.integer = value;
  return reply;
}

RunResult contended(const LockKind& kind, std::uint64_t seed, bool cluster) {
  const std::string topology = kind.quorum ? "independent" : cluster ? "cluster" : "single";
  const std::string file = R"(
schema = 1
name   = "contended"
about  = "So many want it that each release finds somebody who waits"
[run]
seeds = "1"
time  = "60s"
[cluster]
topology = ")" + topology + R"("
nodes    = )" + (kind.quorum || cluster ? "[\"r1\", \"r2\", \"r3\"]" : "[\"r1\"]") +
                           R"(
[lock]
kind  = ")" + std::string(kind.name) +
                           R"("
lease = "2s"
[workload]
kind    = "critical-section"
clients = 4
rounds  = 6
hold    = "2ms..9ms"
[network]
latency = "200us..2ms"
[[expect]]
check = "no-foreign-release"
)";
  return run_once(parse_scenarios(file, "contended.toml").front(), {.seed = seed, .keep_history = true});
}

// Every hardened kind, on one server, or in a Redis Cluster where there can be one.
void compare_with_ledger(bool cluster) {
  for (const LockKind& kind : all_lock_kinds()) {
    if (kind.historic || kind.latch) continue;
    if (cluster && (kind.quorum || std::string_view(kind.name).find("survivor") != std::string_view::npos))
      continue;
    const RunResult run = contended(kind, 5, cluster);
    std::map<checker::Symbol, int> granted, removed;  // by acquisition
    for (const Event& event : run.history.events()) {
      if (event.type != EventType::ok || event.value != 1) continue;
      if (event.f == Function::store_grant) ++granted[event.id];
      if (event.f == Function::store_remove) ++removed[event.id];
    }
    int releases = 0;
    for (const Event& event : run.history.events()) {
      if (event.f == Function::acquire && event.type == EventType::ok) {
        EXPECT_GT(granted[event.id], 0) << kind.name << ": " << run.history.text(event.id);
      }
      if (event.f != Function::release || event.type != EventType::ok) continue;
      ++releases;
      EXPECT_GT(removed[event.id], 0) << kind.name << ": " << run.history.text(event.id);
    }
    EXPECT_GE(releases, 20) << kind.name;
    EXPECT_EQ(run.verdicts[0].outcome, checker::Outcome::holds)
        << kind.name << ": " << run.verdicts[0].reason;
  }
}

TEST(RecordScripts, GrantsAndReleasesOfAContendedLockAreThoseOfTheLedger) { compare_with_ledger(false); }

TEST(RecordScripts, GrantsAndReleasesInAClusterAreThoseOfTheLedger) { compare_with_ledger(true); }

TEST(RecordScripts, AnAnswerThatIsNotDescribedIsNoneOfTheTwo) {
  const Command release = {"EVALSHA", kReentrantRelease.sha1, "2", "k", "w", "a:1"};
  const auto told = [&](std::int64_t value) { return reentrant_effects(release, integer(value)).at(0); };
  EXPECT_FALSE(told(0).took_effect);
  EXPECT_TRUE(told(1).took_effect);
  EXPECT_FALSE(told(2).understood);
}

// In a Redis Cluster they have a head (sharded.lua), and do the same.
TEST(RecordScripts, ScriptsOfAClusterAreReadAsTheOthers) {
  ASSERT_NE(sharded(kReentrantRelease).sha1, kReentrantRelease.sha1);
  const Command release = {"EVALSHA", sharded(kReentrantRelease).sha1, "2", "k", "w", "a:1"};
  const std::vector<StoreEffect> effects = reentrant_effects(release, integer(1));
  ASSERT_FALSE(effects.empty());
  EXPECT_TRUE(effects.front().took_effect);
}

}  // namespace
}  // namespace holdfast::sim
