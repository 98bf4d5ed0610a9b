// The lock of ZooKeeper on real servers: what it promises as a Lock, and what becomes of it when sessions end
// and servers die.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "sim/comparators/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

const Engine& zookeeper() { return *find_engine("zookeeper"); }
const LockKind& kind() { return *find_comparator("zk-recipe"); }

#define SKIP_WITHOUT_ZOOKEEPER() \
  if (!zookeeper().missing().empty()) GTEST_SKIP() << zookeeper().missing()

ClusterOptions one() { return {.engine = "zookeeper", .settings = {{"maxSessionTimeout", "2000"}}}; }
ClusterOptions three() {
  return {.engine = "zookeeper", .topology = Topology::ensemble, .nodes = {"r1", "r2", "r3"}};
}
LaneFilter of(const std::string& client) {
  return [client](const Link& link) {
    return Lanes{.request = link.from == client, .reply = link.from == client};
  };
}

TEST(ZooKeeperLock, IsExclusiveAndGivenBack) {
  SKIP_WITHOUT_ZOOKEEPER();
  for (const ClusterOptions& options : {one(), three()}) {
    testing::with_scene(zookeeper(), options,
                        [](Scene& scene) { testing::expect_exclusive_and_given_back(scene, kind()); });
  }
}

TEST(ZooKeeperLock, AWaiterIsServedOrStopped) {
  SKIP_WITHOUT_ZOOKEEPER();
  testing::with_scene(zookeeper(), one(),
                      [](Scene& scene) { testing::expect_a_waiter_served_or_stopped(scene, kind()); });
}

// Sessions are kept alive while their users work, and while they wait.
TEST(ZooKeeperLock, IsHeldForLongerThanASession) {
  SKIP_WITHOUT_ZOOKEEPER();
  testing::with_scene(zookeeper(), one(), [](Scene& scene) {
    Lock& mine = scene.lock("c1", kind());
    mine.lock();
    const std::uint64_t token = *mine.token();
    EXPECT_FALSE(scene.lock("c2", kind()).try_lock_for(5s));
    EXPECT_TRUE(mine.is_held_by_me());
    EXPECT_EQ(mine.token(), token);
    mine.release();
  });
}

// Another is granted the lock; the holder is told when it is connected again, and not before.
TEST(ZooKeeperLock, TheEndOfASessionIsToldToWhoIsConnected) {
  SKIP_WITHOUT_ZOOKEEPER();
  testing::with_scene(zookeeper(), one(), [](Scene& scene) {
    Lock& mine = scene.lock("c1", kind());
    mine.lock();
    const std::stop_token lost = mine.lost();
    const RuleId cut = scene.proxy().add_rule(make_partition_rule(of("c1")));
    Lock& other = scene.lock("c2", kind());
    EXPECT_TRUE(other.try_lock_for(5min));
    EXPECT_FALSE(scene.told(lost, 1s));
    EXPECT_TRUE(mine.is_held_by_me());
    scene.proxy().heal_rule(cut);
    EXPECT_TRUE(scene.told(lost, 5min));
    EXPECT_FALSE(mine.is_held_by_me());
    EXPECT_THROW(mine.release(), LockLost);
    other.release();
    EXPECT_TRUE(mine.try_lock_for(5min));  // by another session
    mine.release();
  });
}

TEST(ZooKeeperLock, OutlivesTheKillOfTheServer) {
  SKIP_WITHOUT_ZOOKEEPER();
  testing::with_scene(zookeeper(), one(), [](Scene& scene) {
    Lock& mine = scene.lock("c1", kind());
    mine.lock();
    scene.node().crash();
    EXPECT_THROW(static_cast<void>(scene.lock("c2", kind()).try_lock()), Unavailable);
    scene.node().restart(true);
    EXPECT_FALSE(scene.lock("c2", kind()).try_lock_for(4s));
    EXPECT_TRUE(mine.is_held_by_me());
    mine.release();
    EXPECT_TRUE(scene.lock("c2", kind()).try_lock());
  });
}

TEST(ZooKeeperLock, OutlivesTheKillOfTheLeader) {
  SKIP_WITHOUT_ZOOKEEPER();
  testing::with_scene(zookeeper(), three(), [](Scene& scene) {
    std::stop_source replaced;
    scene.cluster().on_role_changed = [&replaced](const std::string& node, bool primary) {
      if (primary && node != "r1") replaced.request_stop();
    };
    Lock& mine = scene.lock("c1", kind());
    mine.lock();
    scene.node().crash();
    EXPECT_TRUE(scene.told(replaced.get_token(), 5min));
    EXPECT_FALSE(scene.lock("c2", kind()).try_lock_for(6s));
    EXPECT_TRUE(mine.is_held_by_me());
    mine.release();
    EXPECT_TRUE(scene.lock("c2", kind()).try_lock_for(5min));
    scene.node().restart(false);  // it learns all from the others
    scene.cluster().on_role_changed = nullptr;
  });
}

// What servers say to each other goes through the proxy: cut off from the others, the first leads no more.
TEST(ZooKeeperServers, PartitionsActAmongMembers) {
  SKIP_WITHOUT_ZOOKEEPER();
  testing::with_scene(zookeeper(), three(), [](Scene& scene) {
    std::stop_source replaced;
    scene.cluster().on_role_changed = [&replaced](const std::string& node, bool primary) {
      if (primary && node != "r1") replaced.request_stop();
    };
    EXPECT_FALSE(scene.told(replaced.get_token(), 3s));
    scene.proxy().add_rule(make_partition_rule([](const Link& link) {
      const bool of_the_first = link.bus && (link.from == "r1" || link.to == "r1");
      return Lanes{.request = of_the_first, .reply = of_the_first};
    }));
    EXPECT_TRUE(scene.told(replaced.get_token(), 5min));
    scene.cluster().on_role_changed = nullptr;
  });
}

TEST(LongZooKeeperScenarios, AllMeetTheirExpectations) {
  SKIP_WITHOUT_ZOOKEEPER();
  EXPECT_GE(testing::expect_all_met(zookeeper(), 3), 20);
}

}  // namespace
}  // namespace holdfast::sim
