// PostgreSQL's locks on real servers: what each promises as a Lock, and what a failover does to them.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

#include "sim/comparators/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

const Engine& postgresql() { return *find_engine("postgresql"); }

#define SKIP_WITHOUT_POSTGRESQL() \
  if (!postgresql().missing().empty()) GTEST_SKIP() << postgresql().missing()

// For each kind of lock of PostgreSQL, on one server.
void with_each(const std::function<void(Scene&, const LockKind&)>& body) {
  testing::with_scene(postgresql(), {}, [&](Scene& scene) {
    for (const LockKind& kind : postgresql().locks) {
      SCOPED_TRACE(kind.name);
      body(scene, kind);
      scene.forget_locks();
    }
  });
}

TEST(PostgresLocks, EachIsExclusiveAndGivenBack) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each(testing::expect_exclusive_and_given_back);
}

TEST(PostgresLocks, AWaiterIsServedOrStopped) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each(testing::expect_a_waiter_served_or_stopped);
}

// A session goes with its server; a row that was committed does not.
TEST(PostgresLocks, TheKillOfTheServerIsToldToWhoHoldsBySession) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each([](Scene& scene, const LockKind& kind) {
    const bool by_session = !kind.promises_validity;
    Lock& mine = scene.lock("c1", kind);
    mine.lock();
    const std::stop_token lost = mine.lost();
    scene.node().crash();
    EXPECT_EQ(scene.told(lost, by_session ? Duration(5min) : Duration(300ms)), by_session);
    EXPECT_EQ(mine.is_held_by_me(), !by_session);
    scene.node().restart(true);
    Lock& other = scene.lock("c2", kind);
    EXPECT_EQ(other.try_lock(), by_session);
    if (by_session) {
      EXPECT_THROW(mine.release(), LockLost);
    } else {
      mine.release();
    }
  });
}

// Cut off, nobody tells: a lease ends all the same, on both sides.
TEST(PostgresLocks, ALeaseEndsOnBothSidesOfAPartition) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each([](Scene& scene, const LockKind& kind) {
    if (!kind.promises_validity) return;
    Lock& mine = scene.lock("c1", kind, 2s);
    mine.lock();
    const std::stop_token lost = mine.lost();
    const MonotonicTime promised = *mine.valid_until();
    const RuleId cut = scene.proxy().add_rule(make_partition_rule(
        [](const Link& link) { return Lanes{.request = link.from == "c1", .reply = link.from == "c1"}; }));
    EXPECT_TRUE(scene.told(lost, 5min));
    EXPECT_GE(scene.runtime().now(), promised);
    EXPECT_TRUE(scene.lock("c2", kind).try_lock_for(5min));
    scene.proxy().heal_rule(cut);
    EXPECT_THROW(mine.release(), LockLost);
  });
}

TEST(PostgresScenarios, AReplicaThatLagsGrantsAgainUnlessGrantsWaitForIt) {
  SKIP_WITHOUT_POSTGRESQL();
  const std::string file = holdfast::testing::source_path("scenarios/comparators/postgresql_failover.toml");
  const std::vector<Override> small = {{"workload.stock", std::int64_t{3}}, {"workload.think", "50ms..80ms"}};
  for (const char* const variant : {"", "synchronous"})
    testing::expect_met(read_scenario(file, variant, small), 1);
}

TEST(LongPostgresScenarios, AllMeetTheirExpectations) {
  SKIP_WITHOUT_POSTGRESQL();
  EXPECT_GE(testing::expect_all_met(postgresql(), 3), 20);
}

}  // namespace
}  // namespace holdfast::sim
