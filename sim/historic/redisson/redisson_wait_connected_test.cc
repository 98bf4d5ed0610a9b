// Redisson's later check of replicas: what it sends, and the flaws for which it is kept.
#include "sim/historic/redisson/redisson_wait_connected.h"

#include <gtest/gtest.h>

#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/cluster.h"
#include "sim/historic/redisson/redisson_reentrant.h"
#include "sim/historic/testing/peer.h"
#include "sim/proxy/proxy.h"
#include "sim/world/world.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using Kind = LockEvent::Kind;

struct One {
  One(Runtime& runtime, Network& network, redis::ClientOptions client_options, LockOptions options = {})
      : client(runtime, network, std::move(client_options)),
        redisson(std::make_shared<Redisson>(client, options, RedissonRenewals::Persistence::goes_on)),
        lock(redisson, std::make_shared<ConnectedReplicas>(redisson), "k") {}
  explicit One(Fixture& fixture, LockOptions options = {})
      : One(fixture.runtime, fixture.network, fixture.options(), options) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  redis::Client client;
  std::shared_ptr<Redisson> redisson;
  RedissonWaitConnected lock;
};

class RedissonWaitConnectedTest : public PortsTest {};
HF_ON_ALL_PORTS(RedissonWaitConnectedTest);

TEST_P(RedissonWaitConnectedTest, WritesRedissonsRecordAndLeavesNoLatch) {
  run([](Fixture& fixture) {
    One a(fixture), b(fixture);
    a.lock.lock();
    a.lock.lock();
    EXPECT_EQ(a.ask({"HGET", "k", a.lock.acquisition()}).text, "2");
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_THROW(b.lock.release(), NotOwner);
    a.lock.unlock();
    a.lock.unlock();
    EXPECT_EQ(a.ask({"DBSIZE"}).integer, 0);
  });
}

// The first of them is 3.13.6: both are one fleet.
TEST_P(RedissonWaitConnectedTest, SharesTheLockWithOlderOnes) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    One a(fixture, {.observer = &observer});
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    RedissonReentrant old(std::make_shared<Redisson>(client, LockOptions{}), "k");
    old.lock();
    Task waiter = fixture.runtime.spawn("client", [&] {
      a.lock.lock();
      a.lock.unlock();
    });
    observer.wait_for(Kind::waiting);
    while (a.ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{k}"}).items[1].integer == 0) {
      fixture.runtime.sleep_for(1ms);
    }
    old.unlock();
    waiter.join();
    EXPECT_EQ(observer.count(Kind::released), 1u);
  });
}

// What 3.13.6 loses is kept here: the second unlock is answered by the latch.
TEST_P(RedissonWaitConnectedTest, AnUnlockMayBeAskedTwice) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    One a(fixture.runtime, fixture.network, fixture.options(link.endpoint())), b(fixture);
    a.lock.lock();
    a.lock.unlock();  // the server knows the scripts
    a.lock.lock();
    a.lock.lock();
    link.lose_reply_to("redisson_unlock_latch:{k}:");
    a.lock.unlock();
    EXPECT_EQ(b.ask({"HGET", "k", a.lock.acquisition()}).text, "1");
    a.lock.unlock();
    EXPECT_EQ(b.ask({"DBSIZE"}).integer, 0);
  });
}

// A lost reply to an acquire is an error at once, and the lock stays until its lease is over.
TEST_P(RedissonWaitConnectedTest, ALostReplyToAnAcquireLeavesTheLock) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    One a(fixture.runtime, fixture.network, fixture.options(link.endpoint())), b(fixture);
    a.lock.lock();
    a.lock.unlock();
    link.lose_reply_to("\r\nk\r\n");
    EXPECT_THROW(a.lock.lock(), Unavailable);
    EXPECT_FALSE(a.lock.is_held_by_me());
    EXPECT_FALSE(b.lock.try_lock());
  });
}

TEST_P(RedissonWaitConnectedTest, RenewalsEndWhenTheLockIsGone) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    One a(fixture, {.lease = 300ms, .observer = &observer});
    a.lock.lock();
    observer.wait_for(Kind::renewed, 3);
    a.ask({"DEL", "k"});
    observer.wait_for(Kind::renew_failed);
    while (a.redisson->renewals().has_entry("k")) fixture.runtime.sleep_for(1ms);
    EXPECT_THROW(a.lock.release(), NotOwner);
  });
}

// A primary and replicas, r1 and the others, in the embedded world.
void with_replicas(int replicas, const std::function<void(sim::World&, sim::Cluster&, One&)>& body) {
  const auto world = sim::make_embedded_world({});
  std::unique_ptr<sim::Proxy> proxy;
  std::unique_ptr<sim::Cluster> cluster;
  world->run([&] {
    sim::ClusterOptions options{.topology = sim::Topology::primary_replica, .nodes = {"r1"}};
    for (int number = 2; number <= replicas + 1; ++number)
      options.nodes.push_back("r" + std::to_string(number));
    proxy = std::make_unique<sim::Proxy>(*world);
    cluster = sim::make_embedded_cluster(*world, *proxy, options);
    cluster->start();
    redis::ClientOptions of_set;
    for (const auto& node : cluster->nodes()) of_set.nodes.push_back({node->name(), node->endpoint()});
    One one(world->harness().runtime(), world->harness().network(), of_set);
    body(*world, *cluster, one);
  });
}

TEST(RedissonReplicaCheck, AGrantThatNobodyAcknowledgesIsTakenBack) {
  with_replicas(1, [](sim::World& world, sim::Cluster& cluster, One& a) {
    a.lock.lock();  // acknowledged
    a.lock.unlock();
    cluster.find("r2")->pause();
    const MonotonicTime start = world.harness().runtime().now();
    EXPECT_THROW(a.lock.lock(), Unavailable);
    EXPECT_GE(world.harness().runtime().now() - start, 3 * Redisson::kRetryInterval + 4s);  // WAIT 1000 each
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_FALSE(a.lock.is_held_by_me());
    cluster.find("r2")->resume();
    a.lock.lock();
    a.lock.unlock();
  });
}

// Where no replica is connected, which is the dangerous state, nothing is checked.
TEST(RedissonReplicaCheck, IsSkippedWhenNoReplicaIsConnected) {
  with_replicas(1, [](sim::World&, sim::Cluster& cluster, One& a) {
    cluster.find("r2")->crash();
    while (a.ask({"INFO", "replication"}).text.find("connected_slaves:0") == std::string::npos) {
      a.lock.runtime().sleep_for(1ms);
    }
    EXPECT_TRUE(a.lock.try_lock());
    a.lock.unlock();
  });
}

// The same with a number that was remembered: it is forgotten when nobody acknowledges.
TEST(RedissonReplicaCheck, IsSkippedWhenTheReplicaHasJustGone) {
  with_replicas(1, [](sim::World&, sim::Cluster& cluster, One& a) {
    a.lock.lock();
    a.lock.unlock();
    cluster.find("r2")->crash();
    EXPECT_TRUE(a.lock.try_lock());
    a.lock.unlock();
  });
}

// One of two is enough.
TEST(RedissonReplicaCheck, OneOfTwoIsEnough) {
  with_replicas(2, [](sim::World&, sim::Cluster& cluster, One& a) {
    cluster.find("r3")->pause();
    EXPECT_TRUE(a.lock.try_lock());
    a.lock.unlock();
    cluster.find("r3")->resume();
  });
}

}  // namespace
}  // namespace holdfast::historic
