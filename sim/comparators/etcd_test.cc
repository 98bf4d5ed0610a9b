// The lock of etcd on real servers: what it promises as a Lock, and what becomes of it when servers die.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "sim/comparators/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using testing::Scene;

const Engine& etcd() { return *find_engine("etcd"); }
const LockKind& kind() { return *find_comparator("etcd-lock"); }

#define SKIP_WITHOUT_ETCD() \
  if (!etcd().missing().empty()) GTEST_SKIP() << etcd().missing()

const ClusterOptions kOne = {.engine = "etcd"};
const ClusterOptions kThree = {.engine = "etcd", .topology = Topology::ensemble, .nodes = {"r1", "r2", "r3"}};

TEST(EtcdLock, IsExclusiveAndGivenBack) {
  SKIP_WITHOUT_ETCD();
  for (const ClusterOptions& options : {kOne, kThree}) {
    testing::with_scene(etcd(), options,
                        [](Scene& scene) { testing::expect_exclusive_and_given_back(scene, kind()); });
  }
}

TEST(EtcdLock, AWaiterIsServedOrStopped) {
  SKIP_WITHOUT_ETCD();
  testing::with_scene(etcd(), kOne,
                      [](Scene& scene) { testing::expect_a_waiter_served_or_stopped(scene, kind()); });
}

// The lease is kept alive while its holder works and while somebody waits.
TEST(EtcdLock, IsHeldForLongerThanALease) {
  SKIP_WITHOUT_ETCD();
  testing::with_scene(etcd(), kOne, [](Scene& scene) {
    Lock& mine = scene.lock("c1", kind(), 2s);
    Lock& other = scene.lock("c2", kind(), 2s);
    mine.lock();
    const MonotonicTime promised = *mine.valid_until();
    const std::uint64_t token = *mine.token();
    EXPECT_FALSE(other.try_lock_for(5s));
    EXPECT_TRUE(mine.is_held_by_me());
    EXPECT_GT(*mine.valid_until(), promised);
    EXPECT_EQ(mine.token(), token);
    mine.release();
  });
}

TEST(EtcdLock, ALeaseEndsOnBothSidesOfAPartition) {
  SKIP_WITHOUT_ETCD();
  testing::with_scene(etcd(), kOne, [](Scene& scene) {
    Lock& mine = scene.lock("c1", kind(), 2s);
    mine.lock();
    const std::stop_token lost = mine.lost();
    const MonotonicTime promised = *mine.valid_until();
    const RuleId cut = scene.proxy().add_rule(make_partition_rule(
        [](const Link& link) { return Lanes{.request = link.from == "c1", .reply = link.from == "c1"}; }));
    EXPECT_TRUE(scene.told(lost, 5min));
    EXPECT_GE(scene.runtime().now(), promised);
    EXPECT_TRUE(scene.lock("c2", kind(), 2s).try_lock_for(5min));
    scene.proxy().heal_rule(cut);
    EXPECT_THROW(mine.release(), LockLost);
  });
}

TEST(EtcdLock, OutlivesTheKillOfTheServer) {
  SKIP_WITHOUT_ETCD();
  testing::with_scene(etcd(), kOne, [](Scene& scene) {
    Lock& mine = scene.lock("c1", kind());
    mine.lock();
    scene.node().crash();
    EXPECT_THROW(static_cast<void>(scene.lock("c2", kind()).try_lock()), Unavailable);
    scene.node().restart(true);
    EXPECT_TRUE(mine.is_held_by_me());
    EXPECT_FALSE(scene.lock("c2", kind()).try_lock());
    mine.release();
    EXPECT_TRUE(scene.lock("c2", kind()).try_lock());
  });
}

TEST(EtcdLock, OutlivesTheKillOfTheLeader) {
  SKIP_WITHOUT_ETCD();
  testing::with_scene(etcd(), kThree, [](Scene& scene) {
    std::stop_source replaced;
    scene.cluster().on_role_changed = [&replaced](const std::string& node, bool primary) {
      if (primary && node != "r1") replaced.request_stop();
    };
    Lock& mine = scene.lock("c1", kind());
    mine.lock();
    scene.node().crash();
    EXPECT_TRUE(scene.told(replaced.get_token(), 5min));
    EXPECT_FALSE(scene.lock("c2", kind()).try_lock_for(5s));
    mine.release();
    EXPECT_TRUE(scene.lock("c2", kind()).try_lock_for(5min));
    EXPECT_THROW(scene.node().restart(false), std::runtime_error);
    scene.cluster().on_role_changed = nullptr;
  });
}

// What members say to each other goes through the proxy: cut off from the others, the first leads no more.
TEST(EtcdServers, PartitionsActAmongMembers) {
  SKIP_WITHOUT_ETCD();
  testing::with_scene(etcd(), kThree, [](Scene& scene) {
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

TEST(LongEtcdScenarios, AllMeetTheirExpectations) {
  SKIP_WITHOUT_ETCD();
  EXPECT_GE(testing::expect_all_met(etcd(), 3), 15);
}

}  // namespace
}  // namespace holdfast::sim
