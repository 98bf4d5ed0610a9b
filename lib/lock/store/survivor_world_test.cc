// LockOptions::survivor on a primary with two replicas, real servers and embedded ones; the proxy freezes
// what goes to a replica.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/lock/store/survivor_store.h"
#include "lib/testing/hand_over_scene.h"
#include "lib/testing/peer.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

// As the age of a link is known in whole seconds, replicas are old three seconds after they joined.
constexpr Duration kLease = 1500ms;

// r1, its replicas r2 and r3, and who asks them.
struct Set {
  Runtime& runtime;
  Network& network;
  sim::Proxy& proxy;
  sim::Cluster& cluster;

  std::string address(const std::string& node) const { return cluster.find(node)->endpoint().to_string(); }
  redis::ClientOptions nodes(const std::vector<std::string>& names = {"r1", "r2", "r3"}) const {
    redis::ClientOptions options{.command_timeout = 2s};
    for (const std::string& name : names) options.nodes.push_back({name, cluster.find(name)->endpoint()});
    return options;
  }
  SurvivorOptions survivor() const {
    return {.members = {address("r1"), address("r2"), address("r3")}, .longest_lease = kLease, .skew = 50ms};
  }
  LockOptions options() const {
    return {.lease = kLease, .fencing = true, .replica_timeout = 100ms, .survivor = survivor()};
  }
  std::string administer(const std::string& node, const std::vector<std::string>& command) const {
    return cluster.find(node)->administer(command);
  }
  redis::Reply ask(const std::string& node, std::initializer_list<std::string_view> command) const {
    redis::Client client(runtime, network, nodes({node}));
    return client.call(command).reply;
  }
  // What goes to that replica, and its acknowledgements, stop on their way.
  sim::RuleId freeze(const std::string& replica) const {
    return proxy.add_rule(sim::make_hold_rule([replica](const sim::Link& link) {
      const bool its = link.replication && link.from == replica;
      return sim::Lanes{.request = its, .reply = its};
    }));
  }
  // r1 dies, `next` is the primary, and the other one follows it.
  void fail_over(const std::string& next) const {
    cluster.find("r1")->crash();
    cluster.find(next)->promote();
    cluster.demote(next == "r2" ? "r3" : "r2", next);
  }
};

struct Peer {
  explicit Peer(const Set& set) : Peer(set, set.nodes(), set.options()) {}
  Peer(const Set& set, redis::ClientOptions nodes, LockOptions options)
      : observer(set.runtime),
        client(set.runtime, set.network, std::move(nodes)),
        locks(client, with_observer(std::move(options))) {}
  LockOptions with_observer(LockOptions options) {
    options.observer = &observer;
    return options;
  }
  std::shared_ptr<Lock> obtain(const std::string& key) { return locks.obtain(key); }
  // Past the quarantine, and until the replicas are old.
  void begin() {
    const auto first = obtain("first");
    ASSERT_TRUE(first->try_lock_for(20s));
    first->unlock();
  }

  RecordingObserver observer;
  redis::Client client;
  ReentrantLocks locks;
};

class Survivor : public ::testing::TestWithParam<Where> {
 protected:
  static bool embedded() { return GetParam() == Where::embedded; }
  static void run(const std::function<void(Set&)>& body) {
    const TemporaryFolder folder;
    const auto world = embedded() ? sim::make_embedded_world({}) : sim::make_real_world({});
    std::unique_ptr<sim::Proxy> proxy;
    std::unique_ptr<sim::Cluster> cluster;
    world->run([&] {
      proxy = std::make_unique<sim::Proxy>(*world);
      const sim::ClusterOptions options{
          .topology = sim::Topology::primary_replica, .nodes = {"r1", "r2", "r3"}, .folder = folder.path()};
      cluster = embedded() ? sim::make_embedded_cluster(*world, *proxy, options)
                           : sim::make_real_cluster(*world, *proxy, options);
      cluster->start();
      Set set{world->harness().runtime(), world->harness().network(), *proxy, *cluster};
      body(set);
      if (!embedded()) cluster.reset();
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, Survivor, ::testing::Values(Where::embedded, Where::event_loop),
                         [](const auto& info) {
                           return info.param == Where::embedded ? "embedded" : "real";
                         });

// In what words it is refused; "": it is not, or not by such an error.
template <class Refusal>
std::string why_not(Lock& lock, Duration wait = 1s) {
  try {
    static_cast<void>(lock.try_lock_for(wait));
  } catch (const Refusal& error) {
    return error.what();
  }
  return "";
}

TEST_P(Survivor, ANewPrimaryGrantsNothingUntilItsQuarantineIsOver) {
  run([](Set& set) {
    Peer peer(set);
    const MonotonicTime began = set.runtime.now();
    const auto lock = peer.obtain("k");
    EXPECT_FALSE(lock->try_lock());
    EXPECT_EQ(set.ask("r1", {"EXISTS", "k"}).integer, 0);
    ASSERT_TRUE(lock->try_lock_for(20s));
    EXPECT_GE(set.runtime.now() - began, quarantine_of(set.survivor()) - 5ms);
    EXPECT_TRUE(lock->token().has_value());
    lock->release();
    EXPECT_TRUE(lock->try_lock()) << "it was over once and for all";
    lock->release();
  });
}

// One after the other they would wait for three seconds, longer than a call may take.
TEST_P(Survivor, ManyThatAskAtOnceAreAllGrantedInTime) {
  run([](Set& set) {
    constexpr int kTasks = 60;
    Peer peer(set);
    peer.begin();
    set.proxy.add_rule(sim::make_delay_rule(
        [](const sim::Link& link) { return sim::Lanes{.request = false, .reply = link.replication}; },
        {50ms, 50ms}, sim::Rng(1)));
    const std::uint64_t before = peer.client.statistics().unanswered;
    std::vector<Task> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(set.runtime.spawn("client", [&peer, key = "k" + std::to_string(i)] {
        const auto lock = peer.obtain(key);
        EXPECT_TRUE(lock->try_lock_for(60s));
        lock->unlock();
      }));
    }
    tasks.clear();
    EXPECT_EQ(peer.observer.count(Kind::acquired), std::size_t{kTasks + 1});
    if (embedded()) {
      EXPECT_EQ(peer.client.statistics().unanswered, before);
    }
  });
}

TEST_P(Survivor, AGrantStandsOnAMajorityAndItsClaimEndsBeforeItsRecord) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    lock->lock();
    const auto on = [&](const std::string& node) {
      return set.ask(node, {"GET", "k"}).text == lock->acquisition() ? 1 : 0;
    };
    EXPECT_GE(on("r1") + on("r2") + on("r3"), 2);
    const LockOptions options = set.options();
    EXPECT_LE(lock->remaining_lease().value(), kLease - 15ms - options.survivor->skew);
    EXPECT_GT(set.ask("r1", {"PTTL", "k"}).integer * 1ms, lock->remaining_lease().value());
    lock->release();
  });
}

TEST_P(Survivor, APromotedReplicaThatLacksAGrantGrantsItToNobodyElse) {
  run([](Set& set) {
    Peer peer(set), other(set);
    peer.begin();
    set.freeze("r2");
    const auto lock = peer.obtain("k");
    lock->lock();  // r3 has it
    const std::uint64_t token = lock->token().value();
    MonotonicTime told = kNever;
    const std::stop_callback lost(lock->lost(), [&] { told = set.runtime.now(); });
    set.fail_over("r2");
    EXPECT_EQ(set.ask("r2", {"EXISTS", "k"}).integer, 0);
    const auto again = other.obtain("k");
    EXPECT_TRUE(again->try_lock_for(30s));
    EXPECT_LE(told, set.runtime.now()) << "who held it before knew that it was lost";
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_GT(again->token().value(), token);
    again->release();
    lock->unlock();
  });
}

TEST_P(Survivor, AHoldIsRenewedThroughAFailoverToAReplicaThatHasIt) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    lock->lock();
    set.runtime.sleep_for(200ms);  // both have it
    set.fail_over("r2");
    const std::size_t before = peer.observer.count(Kind::renewed);
    while (lock->is_held_by_me() && peer.observer.count(Kind::renewed) < before + 2) {
      set.runtime.sleep_for(10ms);
    }
    // The other replica has joined lately, but a renewal may count on it.
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

TEST_P(Survivor, WithoutAMajorityNothingIsGrantedAndWhatWasIsLostInTime) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    lock->lock();
    MonotonicTime told = kNever;
    const std::stop_callback lost(lock->lost(), [&] { told = set.runtime.now(); });
    set.freeze("r2");
    set.freeze("r3");
    const MonotonicTime frozen = set.runtime.now();
    try {
      static_cast<void>(peer.obtain("other")->try_lock_for(300ms));
      ADD_FAILURE() << "nobody acknowledged it";
    } catch (const Unavailable& error) {
      EXPECT_NE(std::string(error.what()).find("only 0 of 1 replicas acknowledged"), std::string::npos)
          << error.what();
    }
    while (told == kNever && set.runtime.now() < frozen + 20s) set.runtime.sleep_for(10ms);
    EXPECT_LE(told, frozen + kLease);
    EXPECT_FALSE(lock->is_held_by_me());
    lock->unlock();
  });
}

// r2 was away, and alone acknowledges. `seen_away`: somebody has looked meanwhile.
void expect_that_a_young_one_does_not_count(Set& set, bool seen_away) {
  Peer peer(set);
  peer.begin();
  const auto lock = peer.obtain("k");
  ASSERT_TRUE(lock->try_lock_for(20s));
  lock->unlock();
  set.freeze("r3");
  const auto why_not = [&]() -> std::string {
    try {
      EXPECT_FALSE(lock->try_lock_for(500ms));
    } catch (const Unavailable& error) {
      return error.what();
    }
    return "";
  };
  set.administer("r2", {"REPLICAOF", "NO", "ONE"});
  if (seen_away) {
    EXPECT_NE(why_not().find("only 0 of 1 replicas acknowledged"), std::string::npos);
  }
  set.cluster.demote("r2", "r1");
  while (set.administer("r2", {"INFO", "replication"}).find("master_link_status:up") == std::string::npos) {
    set.runtime.sleep_for(5ms);
  }
  const std::string why = why_not();
  EXPECT_NE(why.find("joined too lately"), std::string::npos) << why;
  for (int i = 0; i < 200 && !lock->is_held_by_me(); ++i) {
    try {
      static_cast<void>(lock->try_lock_for(1s));
    } catch (const Unavailable&) {
    }
  }
  EXPECT_TRUE(lock->is_held_by_me()) << "it is old by now";
  lock->unlock();
}

TEST_P(Survivor, WhoJoinedLatelyDoesNotCount) {
  run([](Set& set) { expect_that_a_young_one_does_not_count(set, false); });
}

TEST_P(Survivor, WhoWasSeenToJoinLatelyDoesNotCount) {
  run([](Set& set) { expect_that_a_young_one_does_not_count(set, true); });
}

// Who has watched the others for a while needs no acknowledgement of one who has just joined.
TEST_P(Survivor, OneWhoJoinsHoldsUpNobody) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    while (!lock->try_lock_for(1s)) {
    }
    lock->unlock();
    set.administer("r3", {"REPLICAOF", "NO", "ONE"});
    set.cluster.demote("r3", "r1");
    while (set.administer("r3", {"INFO", "replication"}).find("master_link_status:up") == std::string::npos) {
      set.runtime.sleep_for(5ms);
    }
    set.freeze("r3");
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(lock->try_lock()) << i;
      lock->unlock();
    }
  });
}

// Two joins between two looks: either of the replicas may have, and CLIENT LIST knows that one is old.
TEST_P(Survivor, WhoLosesSightOfTheOldAsksForTheirAges) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    ASSERT_TRUE(lock->try_lock_for(20s));
    lock->unlock();
    set.runtime.sleep_for(4s);
    for (int i = 0; i < 2; ++i) {
      set.administer("r3", {"REPLICAOF", "NO", "ONE"});
      set.cluster.demote("r3", "r1");
      while (set.administer("r3", {"INFO", "replication"}).find("master_link_status:up") ==
             std::string::npos) {
        set.runtime.sleep_for(5ms);
      }
    }
    // As soon as it acknowledges at all; real replicas do so once a second at first.
    set.runtime.sleep_for(1500ms);
    const MonotonicTime asked = set.runtime.now();
    EXPECT_TRUE(lock->try_lock());
    if (embedded()) {
      EXPECT_LE(set.runtime.now() - asked, 5ms) << "it takes a second question, and no failure";
    }
    lock->unlock();
  });
}

TEST_P(Survivor, AfterAFailoverAReplicaCountsAQuarantineAfterItWasSeen) {
  if (!embedded()) GTEST_SKIP() << "needs virtual time";
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    const MonotonicTime died = set.runtime.now();
    set.cluster.find("r1")->crash();
    set.cluster.find("r2")->promote();
    Task late = set.runtime.spawn("operator", [&] {
      set.runtime.sleep_for(1s);
      set.cluster.demote("r3", "r2");
    });
    while (!lock->is_held_by_me() && set.runtime.now() < died + 30s) {
      try {
        static_cast<void>(lock->try_lock_for(10s));
      } catch (const Unavailable&) {
      }
    }
    const Duration gap = set.runtime.now() - died;
    late.join();
    EXPECT_GE(gap, 1s + quarantine_of(set.survivor()));
    EXPECT_LE(gap, 1s + quarantine_of(set.survivor()) + 250ms) << "its age in whole seconds takes longer";
    lock->unlock();
  });
}

// Old replicas, so that the quarantine alone is waited for.
TEST_P(Survivor, WhoWaitsAsksAtTheEndOfTheQuarantine) {
  if (!embedded()) GTEST_SKIP() << "needs virtual time";
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    set.administer("r1", {"FLUSHALL"});
    const MonotonicTime began = set.runtime.now();
    const auto lock = peer.obtain("k");
    ASSERT_TRUE(lock->try_lock_for(20s));
    EXPECT_GE(set.runtime.now() - began, quarantine_of(set.survivor()));
    EXPECT_LE(set.runtime.now() - began, quarantine_of(set.survivor()) + 10ms) << "it is no lease";
    lock->unlock();
  });
}

// Who comes later does not count as soon, and leaves the lock to who does. The quarantine ends before either.
TEST_P(Survivor, WhoHasSeenTheReplicasFirstIsGrantedFirst) {
  if (!embedded()) GTEST_SKIP() << "needs virtual time";
  run([](Set& set) {
    std::vector<std::unique_ptr<Peer>> peers;
    for (int i = 0; i < 6; ++i) {
      peers.push_back(std::make_unique<Peer>(set));
      peers.back()->begin();
    }
    set.cluster.find("r1")->crash();
    set.cluster.find("r2")->promote();
    MonotonicTime granted = kNever;
    const auto take = [&](Peer* peer) {
      return set.runtime.spawn("client", [&, peer] {
        const auto lock = peer->obtain("k");
        EXPECT_TRUE(lock->try_lock_for(30s));
        granted = std::min(granted, set.runtime.now());
        lock->unlock();
      });
    };
    std::vector<Task> tasks;
    tasks.push_back(take(peers[0].get()));
    set.runtime.sleep_for(1s);
    set.cluster.demote("r3", "r2");
    while (set.administer("r2", {"INFO", "replication"}).find("state=online") == std::string::npos) {
      set.runtime.sleep_for(1ms);
    }
    const MonotonicTime joined = set.runtime.now();
    set.runtime.sleep_for(300ms);
    for (std::size_t i = 1; i < peers.size(); ++i) tasks.push_back(take(peers[i].get()));
    for (Task& task : tasks) task.join();
    EXPECT_GE(granted - joined, quarantine_of(set.survivor()));
    EXPECT_LE(granted - joined, quarantine_of(set.survivor()) + 120ms);
  });
}

// A primary that nobody follows yet does not know the script, and the next one is refused: neither waits for
// acknowledgements as long as a grant would.
TEST_P(Survivor, WhatANewPrimarySaysIsHeardSoon) {
  if (!embedded()) GTEST_SKIP() << "needs virtual time";
  run([](Set& set) {
    LockOptions options = set.options();
    options.replica_timeout = 1s;
    Peer peer(set, set.nodes(), options);
    peer.begin();
    const auto lock = peer.obtain("k");
    set.cluster.find("r2")->promote();
    set.cluster.find("r1")->crash();
    const MonotonicTime asked = set.runtime.now();
    EXPECT_FALSE(lock->try_lock());
    EXPECT_LE(set.runtime.now() - asked, 400ms);
  });
}

// Replicas that take longer than the first WAIT are known to, and the next one lasts as long as they do.
TEST_P(Survivor, WhoseReplicasAreFarAwayWaitsInOneRound) {
  run([](Set& set) {
    LockOptions options = set.options();
    options.replica_timeout = 2s;
    Peer peer(set, set.nodes(), options);
    peer.begin();
    const auto lock = peer.obtain("k");
    const auto waits = [&] {
      const std::string stats = set.administer("r1", {"INFO", "commandstats"});
      const std::size_t at = stats.find("cmdstat_wait:calls=");
      return at == std::string::npos ? 0 : std::stoi(stats.substr(at + 19));
    };
    const auto waits_of_an_acquire = [&] {
      const int before = waits();
      EXPECT_TRUE(lock->try_lock_for(20s));
      return waits() - before;
    };
    ASSERT_TRUE(lock->try_lock_for(20s));
    lock->unlock();
    const auto far = [](const sim::Link& link) {
      return sim::Lanes{.request = link.replication, .reply = link.replication};
    };
    set.proxy.add_rule(sim::make_delay_rule(far, {150ms, 150ms}, sim::Rng(1)));
    EXPECT_GE(waits_of_an_acquire(), 2);
    lock->unlock();
    int rounds = 0;
    for (int i = 0; i < (embedded() ? 1 : 10) && rounds != 1;
         ++i) {  // a machine under load stands still at times
      rounds = waits_of_an_acquire();
      lock->unlock();
    }
    EXPECT_EQ(rounds, 1);
  });
}

TEST_P(Survivor, AGrantWaitsForSlowReplicasAsLongAsItMay) {
  run([](Set& set) {
    LockOptions options = set.options();
    options.replica_timeout = embedded() ? 500ms : 10s;
    Peer peer(set, set.nodes(), options);
    peer.begin();
    const auto lock = peer.obtain("k");
    ASSERT_TRUE(lock->try_lock_for(20s));
    lock->unlock();
    const sim::RuleId r2 = set.freeze("r2"), r3 = set.freeze("r3");
    Task thaw = set.runtime.spawn("operator", [&] {
      set.runtime.sleep_for(300ms);
      set.proxy.remove_rule(r2);
      set.proxy.remove_rule(r3);
    });
    const MonotonicTime asked = set.runtime.now();
    EXPECT_TRUE(lock->try_lock());
    thaw.join();
    if (embedded()) {
      EXPECT_LE(lock->valid_until().value(), asked + kLease) << "the first acquire is granted";
    }
    lock->unlock();
  });
}

TEST_P(Survivor, AStrangerAmongTheReplicasStopsGrants) {
  run([](Set& set) {
    LockOptions options = set.options();
    options.survivor->members.back() = "192.0.2.1:6379";
    Peer peer(set, set.nodes({"r1", "r2"}), options);
    const std::string why = why_not<Unavailable>(*peer.obtain("k"), 200ms);
    EXPECT_NE(why.find("FOREIGNREPLICA " + set.address("r3")), std::string::npos) << why;
  });
}

TEST_P(Survivor, OtherConstantsAreRefused) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    std::vector<LockOptions> others(4, set.options());
    others[0].survivor->longest_lease += 1s;
    others[1].survivor->skew += 1ms;
    others[2].survivor->drift_ppm += 1;
    others[3].survivor->members.push_back("192.0.2.1:6379");
    for (const LockOptions& options : others) {
      Peer other(set, set.nodes(), options);
      const std::string why = why_not<Rejected>(*other.obtain("k"));
      EXPECT_NE(why.find("OTHERCONSTANTS"), std::string::npos) << why;
    }
    // In another order they are the same.
    LockOptions turned = set.options();
    std::reverse(turned.survivor->members.begin(), turned.survivor->members.end());
    Peer same(set, set.nodes(), turned);
    EXPECT_TRUE(same.obtain("k")->try_lock_for(10s));
  });
}

TEST_P(Survivor, AServerThatForgotEverythingIsNewInItsRole) {
  run([](Set& set) {
    Peer peer(set), other(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    lock->lock();
    MonotonicTime told = kNever;
    const std::stop_callback lost(lock->lost(), [&] { told = set.runtime.now(); });
    set.administer("r1", {"FLUSHALL"});
    const auto again = other.obtain("k");
    EXPECT_FALSE(again->try_lock());
    EXPECT_TRUE(again->try_lock_for(20s));
    EXPECT_LE(told, set.runtime.now());
    again->release();
    lock->unlock();
  });
}

TEST_P(Survivor, AServerThatMayEvictLocksIsRefused) {
  if (embedded()) GTEST_SKIP() << "the embedded server evicts nothing";
  run([](Set& set) {
    set.administer("r1", {"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
    Peer peer(set);
    const std::string why = why_not<Rejected>(*peer.obtain("k"));
    EXPECT_NE(why.find("noeviction"), std::string::npos) << why;
  });
}

TEST_P(Survivor, ATokenAheadOfTheClockIsRefused) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    set.administer("r1", {"SET", "holdfast:token:{k}", "9000000000000000"});
    const std::string why = why_not<Rejected>(*peer.obtain("k"));
    EXPECT_NE(why.find("TOKENAHEAD"), std::string::npos) << why << ", or tokens fall after a failover";
  });
}

TEST_P(Survivor, OneWhoWaitsIsWokenAndHeldInTurn) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    redis::Client client(set.runtime, set.network, set.nodes());
    FairLocks fair(client, set.options());
    const auto lock = fair.obtain("k");
    lock->lock();
    int granted = 0;
    std::vector<Task> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.push_back(set.runtime.spawn("waiter", [&] {
        lock->lock();
        ++granted;
        lock->release();
      }));
    }
    set.runtime.sleep_for(300ms);
    EXPECT_EQ(granted, 0);
    lock->release();
    for (Task& waiter : waiters) waiter.join();
    EXPECT_EQ(granted, 3);
  });
}

// Who is called a holder by the one who gave it back has a grant that no replica may have.
TEST_P(Survivor, AHandOverIsNoGrantUntilReplicasHaveIt) {
  run([](Set& set) {
    LockOptions options = set.options();
    options.fencing = false;
    redis::Client one(set.runtime, set.network, set.nodes()), two(set.runtime, set.network, set.nodes());
    FairLocks ones(one, options), twos(two, options);
    const auto mine = ones.obtain("k"), next = twos.obtain("k");
    ASSERT_TRUE(mine->try_lock_for(20s));
    bool granted = false;
    Task waiter = set.runtime.spawn("waiter", [&] {
      next->lock();
      granted = true;
      next->release();
    });
    const auto holder = [&] { return set.ask("r1", {"GET", "k"}).text; };
    const std::string before = holder();
    while (set.ask("r1", {"ZCARD", testing::kHandOverQueue}).integer != 1) set.runtime.sleep_for(1ms);
    const sim::RuleId r2 = set.freeze("r2"), r3 = set.freeze("r3");
    mine->release();
    const MonotonicTime limit = set.runtime.now() + 5s;
    while ((holder().empty() || holder() == before) && set.runtime.now() < limit) set.runtime.sleep_for(5ms);
    EXPECT_NE(holder(), "") << "the record is the waiter's";
    set.runtime.sleep_for(50ms);
    EXPECT_FALSE(granted);
    set.proxy.remove_rule(r2);
    set.proxy.remove_rule(r3);
    waiter.join();
    EXPECT_TRUE(granted);
  });
}

// The cheaper one: the server says who of the replicas is there.
TEST_P(Survivor, ByLagServersAreTrusted) {
  run([](Set& set) {
    LockOptions options = set.options();
    options.survivor->acknowledged = SurvivorOptions::Acknowledged::by_lag;
    Peer peer(set, set.nodes(), options), majority(set);
    const auto lock = peer.obtain("k");
    const auto why_not = [](Lock& refused) -> std::string {
      try {
        refused.lock();
      } catch (const LockError& error) {
        return error.what();
      }
      return "";
    };
    EXPECT_NE(why_not(*lock).find("min-replicas-to-write is not set, expected 1"), std::string::npos);
    for (const char* const node : {"r1", "r2", "r3"}) {
      set.administer(node, {"CONFIG", "SET", "min-replicas-to-write", "1"});
      set.administer(node, {"CONFIG", "SET", "min-replicas-max-lag", "1"});
    }
    ASSERT_TRUE(lock->try_lock_for(30s));
    EXPECT_NE(why_not(*majority.obtain("k")).find("OTHERCONSTANTS"), std::string::npos);
    // One of two is enough.
    const sim::RuleId alone = set.freeze("r2");
    const std::string one_is_there = "min_slaves_good_slaves:1";
    const auto replication = [&] { return set.ask("r1", {"INFO", "replication"}).text; };
    while (replication().find(one_is_there) == std::string::npos) set.runtime.sleep_for(20ms);
    lock->unlock();
    EXPECT_TRUE(lock->try_lock());
    set.proxy.remove_rule(alone);
    // One command, and the replicas may have it later.
    const sim::RuleId r2 = set.freeze("r2"), r3 = set.freeze("r3");
    lock->unlock();
    EXPECT_TRUE(lock->try_lock());
    EXPECT_EQ(set.ask("r2", {"GET", "k"}).text == lock->acquisition(), false);
    // Until the server has noticed that they are silent: a second of lag, and one in which it counts.
    const MonotonicTime limit = set.runtime.now() + 10s;
    while (lock->is_held_by_me() && set.runtime.now() < limit) set.runtime.sleep_for(20ms);
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_NE(why_not(*lock).find("NOREPLICAS"), std::string::npos);
    set.proxy.remove_rule(r2);
    set.proxy.remove_rule(r3);
    EXPECT_TRUE(lock->try_lock_for(30s));
    lock->unlock();
  });
}

// A writer's record went to a majority; a reader's that it becomes did not.
TEST_P(Survivor, ADowngradeLengthensNoClaim) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    ReadWriteLocks locks(peer.client, {.lock = peer.with_observer(set.options())});
    const auto lock = locks.obtain("k");
    lock->lock();
    const auto claimed = lock->valid_until();
    set.runtime.sleep_for(20ms);
    lock->downgrade();
    EXPECT_EQ(lock->read().valid_until(), claimed);
    const MonotonicTime limit = set.runtime.now() + kLease;
    while (lock->read().valid_until() == claimed && set.runtime.now() < limit) set.runtime.sleep_for(5ms);
    EXPECT_GT(lock->read().valid_until(), claimed) << "a renewal does";
    lock->read().unlock();
  });
}

TEST_P(Survivor, ReadersAndAWriterOnANewPrimary) {
  run([](Set& set) {
    Peer one(set), two(set);
    one.begin();
    ReadWriteLocks ones(one.client, {.lock = one.with_observer(set.options())});
    ReadWriteLocks twos(two.client, {.lock = two.with_observer(set.options())});
    const auto mine = ones.obtain("k"), other = twos.obtain("k");
    mine->read().lock();
    ASSERT_TRUE(other->read().try_lock_for(5s)) << "readers stand beside each other";
    other->read().unlock();
    set.fail_over("r2");
    EXPECT_FALSE(other->read().try_lock()) << "another reader is a new grant, too";
    set.runtime.sleep_for(2 * kLease);
    EXPECT_TRUE(mine->read().is_held_by_me()) << "its record went along";
    mine->read().unlock();
    EXPECT_TRUE(other->try_lock_for(30s));
    other->unlock();
  });
}

TEST_P(Survivor, ARestartWithoutDiskIsNewInItsRole) {
  run([](Set& set) {
    Peer peer(set), other(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    lock->lock();
    MonotonicTime told = kNever;
    const std::stop_callback lost(lock->lost(), [&] { told = set.runtime.now(); });
    set.cluster.find("r1")->crash();
    set.cluster.find("r1")->restart(false);
    const auto again = other.obtain("k");
    EXPECT_TRUE(again->try_lock_for(30s));
    EXPECT_LE(told, set.runtime.now());
    again->release();
    lock->unlock();
  });
}

TEST_P(Survivor, WhatItCannotDoIsSaid) {
  run([](Set& set) {
    Peer peer(set);
    peer.begin();
    const auto lock = peer.obtain("k");
    EXPECT_THROW(static_cast<void>(lock->try_lock_leased(kLease + 1ms, kNever)), std::invalid_argument);
    lock->lock();
    EXPECT_THROW(lock->extend(kLease + 1ms), std::invalid_argument);
    lock->extend(kLease);
    EXPECT_THROW(static_cast<void>(lock->detach()), Unsupported);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->release();
    EXPECT_THROW(static_cast<void>(lock->adopt("00000000-0000-0000-0000-000000000000:1")), Unsupported);

    LockOptions options = set.options();
    options.fencing = false;
    EXPECT_THROW(RedissonLocks(peer.client, options).obtain("r"), std::invalid_argument);
    EXPECT_THROW(Semaphores(peer.client, {.lock = options}).obtain("r"), std::invalid_argument);
    EXPECT_THROW(PermitSemaphore(peer.client, "r", {.lock = options}), std::invalid_argument);
    EXPECT_THROW(Redlocks({&peer.client}, {.lock = options}), std::invalid_argument);
  });
}

TEST_P(Survivor, OptionsThatMakeNoSenseAreRefused) {
  run([](Set& set) {
    redis::Client client(set.runtime, set.network, set.nodes());
    const auto refused = [&](const std::function<void(LockOptions&)>& change) {
      LockOptions options = set.options();
      change(options);
      EXPECT_THROW(ReentrantLocks(client, options), std::invalid_argument);
    };
    refused([](LockOptions& of) { of.survivor->members.clear(); });
    refused([](LockOptions& of) { of.survivor->members.push_back(of.survivor->members[0]); });
    refused([](LockOptions& of) { of.survivor->members.push_back("nowhere"); });
    refused([](LockOptions& of) { of.survivor->members.push_back("a b:1"); });
    refused([](LockOptions& of) { of.survivor->members[0] = "192.0.2.1:6379"; });  // r1 is none of them
    refused([](LockOptions& of) { of.lease = of.survivor->longest_lease + 1ms; });
    refused([](LockOptions& of) { of.survivor->skew = of.lease / 2; });
    refused([](LockOptions& of) { of.survivor->skew = -1ms; });
    refused([](LockOptions& of) { of.survivor->drift_ppm = -1; });
    refused([](LockOptions& of) { of.survivor->longest_lease = 1ms; });
    redis::ClientOptions cluster = set.nodes();
    cluster.cluster = true;
    redis::Client of_cluster(set.runtime, set.network, cluster);
    EXPECT_THROW(ReentrantLocks(of_cluster, set.options()), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast
