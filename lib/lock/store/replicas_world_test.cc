// LockOptions::replicas: a grant and its renewals count only when replicas have them. On a primary with one
// replica, real servers and embedded ones; the proxy freezes what goes from one to the other.
#include <gtest/gtest.h>

#include <memory>
#include <stop_token>
#include <vector>

#include "lib/testing/kinds.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::ExclusiveKind;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;

// A primary r1 and its replica r2.
struct Pair {
  Fixture fixture;  // its `redis` is r1
  sim::Proxy& proxy;
  sim::Cluster& cluster;

  redis::ClientOptions both() const {
    redis::ClientOptions options = fixture.options();
    options.nodes.push_back({"r2", cluster.find("r2")->endpoint()});
    return options;
  }
  redis::Reply ask_r2(std::initializer_list<std::string_view> command) const {
    redis::ClientOptions options = fixture.options(cluster.find("r2")->endpoint());
    redis::Client client(fixture.runtime, fixture.network, options);
    return client.call(command).reply;
  }
  // What r1 sends to r2 stops on its way until thaw().
  sim::RuleId freeze() const {
    return proxy.add_rule(sim::make_hold_rule(
        [](const sim::Link& link) { return sim::Lanes{.request = false, .reply = link.replication}; }));
  }
  void thaw(sim::RuleId id) const { proxy.remove_rule(id); }
};

class Replicas : public ::testing::TestWithParam<std::tuple<Where, ExclusiveKind>> {
 protected:
  static ExclusiveKind kind() { return std::get<1>(GetParam()); }
  static void run(const std::function<void(Pair&)>& body) {
    const Where where = std::get<0>(GetParam());
    const TemporaryFolder folder;
    const auto world = where == Where::embedded ? sim::make_embedded_world({}) : sim::make_real_world({});
    std::unique_ptr<sim::Proxy> proxy;
    std::unique_ptr<sim::Cluster> cluster;
    world->run([&] {
      proxy = std::make_unique<sim::Proxy>(*world);
      const sim::ClusterOptions options{
          .topology = sim::Topology::primary_replica, .nodes = {"r1", "r2"}, .folder = folder.path()};
      cluster = where == Where::embedded ? sim::make_embedded_cluster(*world, *proxy, options)
                                         : sim::make_real_cluster(*world, *proxy, options);
      cluster->start();
      Pair pair{
          {where, world->harness().runtime(), world->harness().network(), cluster->find("r1")->endpoint()},
          *proxy,
          *cluster};
      body(pair);
      if (where != Where::embedded) cluster.reset();
    });
  }
};

std::string name_of(const ::testing::TestParamInfo<std::tuple<Where, ExclusiveKind>>& info) {
  return testing::to_string(std::get<0>(info.param)) + "_" + testing::to_string(std::get<1>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Embedded, Replicas,
                         ::testing::Combine(::testing::Values(Where::embedded),
                                            ::testing::ValuesIn(testing::every_kind())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Real, Replicas,
                         ::testing::Combine(::testing::Values(Where::event_loop),
                                            ::testing::Values(ExclusiveKind::reentrant)),
                         name_of);

TEST_P(Replicas, AGrantIsThereBeforeItIsTold) {
  run([](Pair& pair) {
    AnyPeer peer(pair.fixture, kind(), {.lease = 60s, .replicas = 1});
    for (int round = 0; round < 5; ++round) {
      const auto lock = peer.obtain("k" + std::to_string(round));
      lock->lock();
      AnyPeer other(pair.fixture, kind(), {.lease = 60s, .replicas = 1});
      EXPECT_FALSE(other.obtain(lock->key())->try_lock());  // a refusal waits for nobody
      lock->unlock();
    }
  });
}

TEST_P(Replicas, AGrantSurvivesAFailover) {
  run([](Pair& pair) {
    redis::Client client(pair.fixture.runtime, pair.fixture.network, pair.both());
    testing::RecordingObserver observer(pair.fixture.runtime);
    const auto locks =
        testing::make_locks(kind(), client, {.lease = 6s, .replicas = 1, .observer = &observer});
    const auto lock = locks->obtain("k");
    lock->lock();
    pair.freeze();
    pair.cluster.find("r1")->crash();
    pair.cluster.find("r2")->promote();
    EXPECT_TRUE(pair.ask_r2({"GET", "k"}).text.starts_with(lock->acquisition()));
    redis::Client late(pair.fixture.runtime, pair.fixture.network,
                       pair.fixture.options(pair.cluster.find("r2")->endpoint()));
    const auto others = testing::make_locks(kind(), late, {.lease = 6s});
    EXPECT_FALSE(others->obtain("k")->try_lock());
    lock->unlock();  // a release needs nobody's acknowledgement
    EXPECT_TRUE(others->obtain("k")->try_lock());
  });
}

// The only replica hears nothing: no grant, and what was written is taken back.
TEST_P(Replicas, AGrantThatNoReplicaHasIsNone) {
  run([](Pair& pair) {
    AnyPeer peer(pair.fixture, kind(), {.lease = 600s, .replicas = 1, .replica_timeout = 50ms});
    const auto lock = peer.obtain("k");
    const sim::RuleId frozen = pair.freeze();
    const MonotonicTime start = pair.fixture.runtime.now();
    try {
      static_cast<void>(lock->try_lock_for(300ms));
      ADD_FAILURE() << "granted";
    } catch (const Unavailable& error) {
      EXPECT_TRUE(error.may_have_executed());
      EXPECT_NE(std::string(error.what()).find("replica"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_FALSE(lock->in_use());
    EXPECT_THROW(lock->lock(), Unavailable);
    EXPECT_EQ(peer.observer.count(Kind::acquired), 0u);
    while (peer.ask({"EXISTS", "k"}).integer != 0) pair.fixture.runtime.sleep_for(5ms);
    pair.thaw(frozen);
    EXPECT_TRUE(lock->try_lock_for(60s));
    lock->unlock();
    EXPECT_LT(pair.fixture.runtime.now() - start, 500s);
  });
}

// The replica comes back while somebody asks.
TEST_P(Replicas, GrantedWhenTheReplicaHearsAgain) {
  run([](Pair& pair) {
    AnyPeer peer(pair.fixture, kind(), {.lease = 60s, .replicas = 1, .replica_timeout = 50ms});
    const auto lock = peer.obtain("k");
    const sim::RuleId frozen = pair.freeze();
    Task waiter = pair.fixture.runtime.spawn("client", [&] {
      EXPECT_TRUE(lock->try_lock_for(60s));
      EXPECT_TRUE(pair.ask_r2({"GET", "k"}).text.starts_with(lock->acquisition()));
      lock->unlock();
    });
    pair.fixture.runtime.sleep_for(200ms);
    EXPECT_EQ(peer.observer.count(Kind::acquired), 0u);
    pair.thaw(frozen);
    waiter.join();
  });
}

TEST_P(Replicas, ARenewalThatNoReplicaHasIsNone) {
  run([](Pair& pair) {
    AnyPeer peer(pair.fixture, kind(), {.lease = 1200ms, .replicas = 1, .replica_timeout = 50ms});
    const auto lock = peer.obtain("k"), second = peer.obtain("k2");
    lock->lock();
    second->lock();
    peer.observer.wait_for(Kind::renewed, 4);
    const sim::RuleId frozen = pair.freeze();
    peer.observer.wait_for(Kind::renew_failed);
    const MonotonicTime until = *lock->valid_until();
    const std::size_t renewed = peer.observer.count(Kind::renewed);
    peer.observer.wait_for(Kind::lost, 2);
    EXPECT_GE(peer.observer.last(Kind::lost), until);
    EXPECT_EQ(*lock->valid_until(), until);  // not moved, though the primary said yes
    EXPECT_EQ(peer.observer.count(Kind::renewed), renewed);
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_THROW(second->release(), LockLost);
    pair.thaw(frozen);
  });
}

TEST_P(Replicas, AShortGapIsSurvived) {
  run([](Pair& pair) {
    AnyPeer peer(pair.fixture, kind(), {.lease = 2400ms, .replicas = 1, .replica_timeout = 50ms});
    const auto lock = peer.obtain("k");
    lock->lock();
    const sim::RuleId frozen = pair.freeze();
    peer.observer.wait_for(Kind::renew_failed);
    pair.thaw(frozen);
    peer.observer.wait_for(Kind::renewed, 2);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
    EXPECT_EQ(peer.observer.count(Kind::lost), 0u);
  });
}

// One after the other they would wait for three seconds, longer than a call may take.
TEST_P(Replicas, ManyThatAskAtOnceAreAllGrantedInTime) {
  run([](Pair& pair) {
    constexpr int kTasks = 60;
    pair.proxy.add_rule(sim::make_delay_rule(
        [](const sim::Link& link) { return sim::Lanes{.request = false, .reply = link.replication}; },
        {50ms, 50ms}, sim::Rng(1)));
    AnyPeer peer(pair.fixture, kind(), {.lease = 60s, .replicas = 1});
    std::vector<Task> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(pair.fixture.runtime.spawn("client", [&peer, key = "k" + std::to_string(i)] {
        const auto lock = peer.obtain(key);
        EXPECT_TRUE(lock->try_lock_for(60s));
        lock->unlock();
      }));
    }
    tasks.clear();
    EXPECT_EQ(peer.observer.count(Kind::acquired), std::size_t{kTasks});
    if (pair.fixture.where == Where::embedded) {
      EXPECT_EQ(peer.client.statistics().unanswered, 0u);
    }
  });
}

// Whoever waits for replicas does it on a connection of its own.
TEST_P(Replicas, AStoppedReplicaHoldsUpNothingElse) {
  run([](Pair& pair) {
    Runtime& runtime = pair.fixture.runtime;
    redis::ClientOptions options = pair.fixture.options();
    options.command_timeout = 20s;
    redis::Client client(runtime, pair.fixture.network, options);
    testing::RecordingObserver observer(runtime);
    const auto plain = testing::make_locks(kind(), client, {.lease = 900ms, .observer = &observer});
    const auto strict = testing::make_locks(
        kind(), client, {.lease = 600s, .replicas = 1, .replica_timeout = std::chrono::seconds(10)});
    const auto unrelated = plain->obtain("unrelated");
    unrelated->lock();
    const sim::RuleId frozen = pair.freeze();
    std::stop_source stop;
    Task waiter = runtime.spawn("client", [&] {
      try {
        static_cast<void>(strict->obtain("k")->try_lock_for(20s, stop.get_token()));
      } catch (const LockError&) {
      }
    });
    while (client.call({"EXISTS", "k"}).reply.integer == 0) runtime.sleep_for(1ms);
    runtime.sleep_for(2ms);
    const MonotonicTime before = runtime.now();
    client.call({"PING"});
    EXPECT_LT(runtime.now() - before, 5s);
    const std::size_t renewed = observer.count(Kind::renewed);
    observer.wait_for(Kind::renewed, renewed + 4);
    EXPECT_TRUE(unrelated->is_held_by_me());
    stop.request_stop();
    pair.thaw(frozen);
    waiter.join();
    unrelated->unlock();
  });
}

// As one object for each key makes them: one connection, on which each WAIT would keep the next lock.
TEST_P(Replicas, LocksOfManyObjectsShareTheirWaits) {
  run([](Pair& pair) {
    constexpr std::size_t kObjects = 12;
    Runtime& runtime = pair.fixture.runtime;
    redis::Client client(runtime, pair.fixture.network, pair.fixture.options());
    std::vector<std::unique_ptr<Locks>> objects;
    for (std::size_t i = 0; i < kObjects; ++i)
      objects.push_back(testing::make_locks(kind(), client, {.lease = 60s, .replicas = 1}));
    EXPECT_TRUE(objects[0]->obtain("first")->try_lock_for(20s));  // now the server knows the script
    const std::uint64_t before = client.statistics().commands;
    const sim::RuleId frozen = pair.freeze();
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < kObjects; ++i) {
      tasks.push_back(runtime.spawn("client", [&objects, i] {
        EXPECT_TRUE(objects[i]->obtain("k" + std::to_string(i))->try_lock_for(20s));
      }));
    }
    runtime.sleep_for(20ms);
    pair.thaw(frozen);
    tasks.clear();
    if (pair.fixture.where == Where::embedded) {
      EXPECT_LT(client.statistics().commands - before, 2 * kObjects) << "a WAIT for each of them";
    }
  });
}

// No replica at all.
TEST(NoReplica, IsUnavailable) {
  for (const Where where : testing::everywhere()) {
    for (const ExclusiveKind kind : testing::every_kind()) {
      testing::with_fixture(where, [&](Fixture& fixture) {
        AnyPeer peer(fixture, kind, {.lease = 600s, .replicas = 1, .replica_timeout = 20ms});
        const auto lock = peer.obtain("k");
        EXPECT_THROW(static_cast<void>(lock->try_lock_for(60ms)), Unavailable);
        while (peer.ask({"EXISTS", "k"}).integer != 0) fixture.runtime.sleep_for(5ms);
        EXPECT_FALSE(lock->in_use());
        AnyPeer modest(fixture, kind, {.lease = 600s});
        const auto other = modest.obtain("k");
        EXPECT_TRUE(other->try_lock());
        EXPECT_FALSE(lock->try_lock());  // refused by a holder: that needs no replica
        other->unlock();
      });
    }
  }
}

}  // namespace
}  // namespace holdfast
