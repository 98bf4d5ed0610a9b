// Redlock on three and five servers, real and embedded: majorities, dead and hung servers, minorities given
// back, validity, renewal, loss, tokens. How the store votes in detail: quorum_store_test.cc.
#include "lib/lock/redlock/redlock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <mutex>

#include "lib/lock/engine/lease.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/scene.h"
#include "lib/testing/servers.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::FaultyLink;
using testing::Fixture;
using testing::Servers;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;

class RedlockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(int servers, const std::function<void(Fixture&, Servers&)>& body) {
    testing::on_servers(GetParam(), servers, body);
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, RedlockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

redis::ClientOptions to(const Endpoint& endpoint, std::size_t number) {
  return {.nodes = {{"r" + std::to_string(number + 1), endpoint}}, .command_timeout = 2000ms};
}

// A client process: behind a link for each server.
struct Peer {
  Peer(Fixture& fixture, Servers& servers, RedlockOptions options = {}) : observer(fixture.runtime) {
    for (std::size_t i = 0; i < servers.size(); ++i) {
      relays.emplace_back(fixture.runtime, fixture.network, servers.endpoint(i));
      clients.emplace_back(fixture.runtime, fixture.network, to(relays.back().endpoint(), i));
      straight.emplace_back(fixture.runtime, fixture.network, to(servers.endpoint(i), i));
      testing::load(straight.back(), {&kReentrantAcquire, &kReentrantRelease, &kReentrantRenew});
      clients.back().call({"PING"});
    }
    std::vector<redis::Client*> pointers;
    for (redis::Client& client : clients) pointers.push_back(&client);
    options.lock.observer = &observer;
    locks.emplace(pointers, options);
    lock = locks->obtain("k");
  }
  FaultyLink& link(std::size_t i) { return *std::next(relays.begin(), static_cast<std::ptrdiff_t>(i)); }
  // Past the relays.
  redis::Reply ask_server(std::size_t i, std::initializer_list<std::string_view> command) {
    return ask(*std::next(straight.begin(), static_cast<std::ptrdiff_t>(i)), command);
  }
  bool has(std::size_t i) { return ask_server(i, {"EXISTS", "k"}).integer == 1; }

  testing::RecordingObserver observer;
  std::list<FaultyLink> relays;
  std::list<redis::Client> clients, straight;
  std::optional<Redlocks> locks;
  std::shared_ptr<Lock> lock;
};

RedlockOptions lease(Duration lease) { return {.lock = {.lease = lease}}; }

// [parks] In the background it may take a moment.
template <class Condition>
void eventually(Fixture& fixture, Condition condition) {
  while (!condition()) fixture.runtime.sleep_for(1ms);
}

TEST_P(RedlockTest, AllServersHaveTheRecord) {
  run(3, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(20s)), b(fixture, servers, lease(20s));
    const MonotonicTime before = fixture.runtime.now();
    a.lock->lock();
    EXPECT_GE(*a.lock->valid_until(), lease_end(before, 20s));
    eventually(fixture, [&] { return a.has(0) && a.has(1) && a.has(2); });
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(a.ask_server(i, {"GET", "k"}).text, a.lock->acquisition());
      EXPECT_GT(a.ask_server(i, {"PTTL", "k"}).integer, 0);
    }
    EXPECT_TRUE(a.lock->try_lock());
    EXPECT_EQ(a.lock->hold_count(), 2);
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_FALSE(b.lock->try_lock_for(500ms));
    a.lock->unlock();
    a.lock->unlock();
    eventually(fixture, [&] { return !a.has(0) && !a.has(1) && !a.has(2); });
    EXPECT_TRUE(b.lock->try_lock());
    EXPECT_TRUE(a.lock->force_unlock());
    EXPECT_THROW(b.lock->release(), LockLost);
    EXPECT_FALSE(a.lock->force_unlock());
  });
}

TEST_P(RedlockTest, BadInput) {
  run(3, [](Fixture& fixture, Servers& servers) {
    redis::Client one(fixture.runtime, fixture.network, to(servers.endpoint(0), 0));
    redis::Client again(fixture.runtime, fixture.network, to(servers.endpoint(0), 1));
    redis::Client two(fixture.runtime, fixture.network, to(servers.endpoint(1), 1));
    EXPECT_THROW(Redlocks({}, {}), std::invalid_argument);
    EXPECT_THROW(Redlocks({&one, nullptr}, {}), std::invalid_argument);
    EXPECT_THROW(Redlocks({&one, &one}, {}), std::invalid_argument);
    EXPECT_THROW(Redlocks({&one, &two, &again}, {}),
                 std::invalid_argument);  // the same server by two clients
    EXPECT_THROW(Redlocks({&one, &two}, {.node_timeout = 0ms}), std::invalid_argument);
    EXPECT_THROW(Redlocks({&one, &two}, {.lock = {.replicas = 1}}), std::invalid_argument);
    EXPECT_THROW(Redlocks({&one, &two}, lease(1ms)), std::invalid_argument);
  });
}

// Of five servers two die: as before. A third one: unavailable, and nothing stays held.
TEST_P(RedlockTest, AMinorityOfDeadServersDoesNotMatter) {
  run(5, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(60s)), b(fixture, servers, lease(60s));
    for (std::size_t dead = 0; dead <= 2; ++dead) {
      a.lock->lock();
      EXPECT_FALSE(b.lock->try_lock());
      a.lock->unlock();
      // A vote for its refused try may be cast this late, and given back then. Where every server counts,
      // that refuses another try.
      EXPECT_TRUE(fixture.where == Where::embedded ? b.lock->try_lock() : b.lock->try_lock_for(60s));
      b.lock->unlock();
      servers.crash(dead);
    }
    try {
      static_cast<void>(a.lock->try_lock_for(300ms));
      ADD_FAILURE();
    } catch (const Unavailable& error) {
      EXPECT_NE(std::string(error.what()).find("not enough servers answered"), std::string::npos)
          << error.what();
    }
    EXPECT_FALSE(a.lock->is_held_by_me());
    eventually(fixture, [&] { return !a.has(3) && !a.has(4); });
    servers.restart(0);
    EXPECT_TRUE(b.lock->try_lock_for(30s));
    b.lock->unlock();
  });
}

// A dead server at the release: the others decide.
TEST_P(RedlockTest, AServerDiesWhileItIsHeld) {
  run(3, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(600ms)), b(fixture, servers, lease(60s));
    a.lock->lock();
    servers.crash(0);
    a.observer.wait_for(Kind::renewed, 5);
    EXPECT_TRUE(a.lock->is_held_by_me());
    EXPECT_FALSE(b.lock->try_lock());
    a.lock->unlock();
    EXPECT_EQ(a.observer.count(Kind::lost), 0u);
    b.lock->lock();
    b.lock->unlock();
  });
}

// A server that hangs costs its timeout at most, and only where its answer would decide.
TEST_P(RedlockTest, AHungServerCountsAsANo) {
  run(3, [](Fixture& fixture, Servers& servers) {
    RedlockOptions options = lease(60s);
    options.node_timeout = 100ms;
    Peer a(fixture, servers, options), b(fixture, servers, options);
    servers.pause(2);
    const MonotonicTime start = fixture.runtime.now();
    for (int round = 0; round < 20; ++round) {
      a.lock->lock();
      a.lock->unlock();
    }
    if (fixture.where == Where::embedded) {
      EXPECT_LT(fixture.runtime.now() - start, 100ms);
    }
    a.lock->lock();
    EXPECT_FALSE(b.lock->try_lock());
    a.lock->unlock();
    b.lock->lock();
    servers.resume(2);
    EXPECT_TRUE(b.lock->is_held_by_me());
    b.lock->unlock();
    eventually(fixture, [&] { return !a.has(0) && !a.has(1) && !a.has(2); });
    EXPECT_EQ(a.observer.count(Kind::lost) + b.observer.count(Kind::lost), 0u);
  });
}

TEST_P(RedlockTest, AHungMajorityIsUnavailable) {
  run(3, [](Fixture& fixture, Servers& servers) {
    RedlockOptions options = lease(60s);
    options.node_timeout = 50ms;
    Peer a(fixture, servers, options);
    servers.pause(1);
    servers.pause(2);
    EXPECT_THROW(static_cast<void>(a.lock->try_lock_for(200ms)), Unavailable);
    servers.resume(1);
    servers.resume(2);
    eventually(fixture, [&] { return !a.has(0) && !a.has(1) && !a.has(2); });  // long before the lease
    EXPECT_TRUE(a.lock->try_lock_for(30s));
    a.lock->unlock();
  });
}

// Somebody else has two of three: the third one is given back at once.
TEST_P(RedlockTest, AMinorityIsGivenBackAtOnce) {
  run(3, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(60s));
    for (const std::size_t i : {0u, 1u}) {
      a.ask_server(i, {"SET", "k", "other:1", "PX", "60000"});
    }
    for (int round = 0; round < 10; ++round) EXPECT_FALSE(a.lock->try_lock());
    eventually(fixture, [&] { return !a.has(2); });
    EXPECT_TRUE(a.has(0) && a.has(1));
    EXPECT_FALSE(a.lock->try_lock_for(500ms));
    eventually(fixture, [&] { return !a.has(2); });
    a.ask_server(0, {"DEL", "k"});
    EXPECT_TRUE(a.lock->try_lock_for(30s));
    EXPECT_EQ(a.ask_server(1, {"GET", "k"}).text, "other:1");
    a.lock->unlock();
  });
}

// The word that gives the minority back is lost with its connection: it is said again.
TEST_P(RedlockTest, AMinorityIsGivenBackThoughThatFails) {
  run(3, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(60s));
    for (const std::size_t i : {0u, 1u}) {
      a.ask_server(i, {"SET", "k", "other:1", "PX", "60000"});
    }
    a.link(2).lose_request_with(std::string(kReentrantRelease.sha1), 3);
    EXPECT_FALSE(a.lock->try_lock());
    eventually(fixture, [&] { return a.link(2).to_lose() == 0 && !a.has(2); });  // long before the lease
    // The same when a release does not reach a server.
    for (const std::size_t i : {0u, 1u}) a.ask_server(i, {"DEL", "k"});
    a.lock->lock();
    eventually(fixture, [&] { return a.has(0) && a.has(1) && a.has(2); });
    a.link(1).lose_request_with(std::string(kReentrantRelease.sha1), 2);
    a.lock->unlock();
    eventually(fixture, [&] { return !a.has(0) && !a.has(1) && !a.has(2); });
  });
}

// The undo of a refused round comes late, when a later round of the same acquire has been granted: it must
// not take that grant away.
TEST_P(RedlockTest, ALateUndoDoesNotTouchALaterRound) {
  run(3, [](Fixture& fixture, Servers& servers) {
    RedlockOptions options = lease(60s);
    options.node_timeout = 100ms;
    Peer a(fixture, servers, options), b(fixture, servers, options);
    for (const std::size_t i : {0u, 1u}) {
      a.ask_server(i, {"SET", "k", "other:1", "PX", "60000"});
    }
    a.link(2).hold_request(std::string(kReentrantRelease.sha1));
    Sign held(fixture.runtime), looked(fixture.runtime);
    Task asking = fixture.runtime.spawn("client", [&] {
      a.lock->lock();
      held.give();
      looked.wait();
      EXPECT_TRUE(a.lock->is_held_by_me());
      a.lock->unlock();
    });
    a.link(2).wait_held();  // granted by the third server, refused by the others; the undo hangs
    a.ask_server(0, {"DEL", "k"});
    fixture.runtime.sleep_for(150ms);  // a round with the first and the third server would win
    a.link(2).release_request();
    held.wait();
    fixture.runtime.sleep_for(20ms);
    a.ask_server(1, {"DEL", "k"});
    EXPECT_FALSE(b.lock->try_lock_for(100ms));
    looked.give();
    asking.join();
  });
}

// The last reply of the majority comes when the lease is over: that is no grant.
TEST_P(RedlockTest, ValidityIsCheckedAfterTheLastReply) {
  run(3, [](Fixture& fixture, Servers& servers) {
    RedlockOptions options = lease(300ms);
    options.node_timeout = 2s;
    Peer a(fixture, servers, options);
    a.link(1).stall(true);
    a.link(2).stall(true);
    Task thaw = fixture.runtime.spawn("client", [&] {
      fixture.runtime.sleep_for(450ms);
      a.link(1).stall(false);
      a.link(2).stall(false);
    });
    const MonotonicTime start = fixture.runtime.now();
    a.lock->lock();
    EXPECT_GE(fixture.runtime.now() - start, 450ms);
    EXPECT_GT(*a.lock->valid_until(), fixture.runtime.now());
    EXPECT_LE(*a.lock->valid_until(), lease_end(fixture.runtime.now(), 300ms));
    EXPECT_EQ(a.observer.count(Kind::acquired), 1u);
    thaw.join();
    a.lock->unlock();
  });
}

TEST_P(RedlockTest, LostRepliesOfAMajority) {
  run(3, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(60s));
    for (const std::size_t i : {0u, 1u, 2u}) {
      a.link(i).lose_reply_to(std::string(kReentrantAcquire.sha1), 2);
    }
    a.lock->lock();
    for (const std::size_t i : {0u, 1u, 2u}) {
      a.link(i).lose_reply_to(std::string(kReentrantRelease.sha1), 2);
    }
    a.lock->unlock();
    EXPECT_EQ(a.observer.count(Kind::lost), 0u);
    eventually(fixture, [&] { return !a.has(0) && !a.has(1) && !a.has(2); });
  });
}

TEST_P(RedlockTest, LostWhenAMajorityForgot) {
  run(5, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(600ms));
    a.lock->lock();
    eventually(fixture, [&] { return a.has(0) && a.has(1) && a.has(2) && a.has(3) && a.has(4); });
    a.ask_server(0, {"DEL", "k"});
    a.ask_server(1, {"DEL", "k"});
    a.observer.wait_for(Kind::renewed, 3);  // three of five have it
    EXPECT_TRUE(a.lock->is_held_by_me());
    EXPECT_FALSE(a.has(0));  // a renewal brings nothing back
    a.ask_server(2, {"DEL", "k"});
    a.observer.wait_for(Kind::lost);
    EXPECT_FALSE(a.lock->is_held_by_me());
    EXPECT_THROW(a.lock->release(), LockLost);
  });
}

// Most servers are cut off: told at the end of the lease, and not later.
TEST_P(RedlockTest, LossIsToldAtTheEndOfTheLease) {
  run(3, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(500ms));
    a.lock->lock();
    a.observer.wait_for(Kind::renewed, 1);
    servers.pause(0);
    servers.pause(1);
    a.observer.wait_for(Kind::lost);
    EXPECT_GE(a.observer.last(Kind::lost), *a.lock->valid_until());
    if (fixture.where == Where::embedded) {
      EXPECT_EQ(a.observer.last(Kind::lost), *a.lock->valid_until());
    }
    servers.resume(0);
    servers.resume(1);
    EXPECT_THROW(a.lock->release(), LockLost);
  });
}

// One server renews, one has forgotten, one is silent: that is no loss, and the release gives all of it back.
TEST_P(RedlockTest, AnExtensionThatIsUndecidedIsNoLoss) {
  run(3, [](Fixture& fixture, Servers& servers) {
    RedlockOptions options = lease(60s);
    options.node_timeout = 100ms;
    Peer a(fixture, servers, options), b(fixture, servers, options);
    a.lock->lock();
    eventually(fixture, [&] { return a.has(0) && a.has(1) && a.has(2); });
    a.ask_server(2, {"DEL", "k"});
    a.link(1).stall(true);
    EXPECT_THROW(a.lock->extend(3600s), Unavailable);
    a.link(1).stall(false);
    EXPECT_TRUE(a.lock->is_held_by_me());
    EXPECT_EQ(a.observer.count(Kind::lost) + a.observer.count(Kind::extended), 0u);
    eventually(fixture, [&] { return a.ask_server(0, {"PTTL", "k"}).integer > 3'000'000; });
    EXPECT_FALSE(b.lock->try_lock());
    eventually(fixture, [&] {  // again, with two that answer
      try {
        a.lock->extend(3600s);
        return true;
      } catch (const Unavailable&) {
        return false;
      }
    });
    EXPECT_GT(*a.lock->remaining_lease(), 3000s);
    a.lock->release();
    EXPECT_TRUE(b.lock->try_lock_for(30s));
    b.lock->release();
  });
}

// Most servers have forgotten it: a loss. What the others have lengthened is given back.
TEST_P(RedlockTest, AnExtensionThatIsRefusedLeavesNothing) {
  run(3, [](Fixture& fixture, Servers& servers) {
    RedlockOptions options = lease(60s);
    options.node_timeout = 10s;
    Peer a(fixture, servers, options);
    a.lock->lock();
    eventually(fixture, [&] { return a.has(0) && a.has(1) && a.has(2); });
    a.ask_server(1, {"DEL", "k"});
    a.ask_server(2, {"DEL", "k"});
    EXPECT_THROW(a.lock->extend(3600s), LockLost);
    const MonotonicTime end = fixture.runtime.now() + 5s;
    const bool exact = fixture.where == Where::embedded;
    eventually(fixture, [&] { return !a.has(0) || (exact && fixture.runtime.now() >= end); });
    EXPECT_FALSE(a.has(0)) << "an hour is long";
    EXPECT_THROW(a.lock->release(), LockLost);
    EXPECT_EQ(a.observer.count(Kind::lost), 1u);
  });
}

// Tokens rise although each grant has another majority.
TEST_P(RedlockTest, TokensRiseOverDifferentMajorities) {
  run(3, [](Fixture& fixture, Servers& servers) {
    RedlockOptions options{.lock = {.lease = 60s, .fencing = true}};
    Peer a(fixture, servers, options), b(fixture, servers, options);
    a.ask_server(0, {"SET", "holdfast:token:{k}", "9000000000000001"});  // its clock is far ahead
    std::uint64_t last = 0;
    for (std::size_t round = 0; round < 6; ++round) {
      const std::size_t cut_off = round % 3;
      servers.pause(cut_off);
      Peer& peer = round % 2 == 0 ? a : b;
      peer.lock->lock();
      ASSERT_TRUE(peer.lock->token());
      EXPECT_GT(*peer.lock->token(), last) << round;
      last = *peer.lock->token();
      EXPECT_LT(last, 9007199254740992u);
      peer.lock->unlock();
      servers.resume(cut_off);
      eventually(fixture, [&] { return !a.has(0) && !a.has(1) && !a.has(2); });
    }
    EXPECT_GT(last, 9000000000000001u);
  });
}

TEST_P(RedlockTest, ContentionMakesProgress) {
  run(3, [](Fixture& fixture, Servers& servers) {
    constexpr int kRounds = 12;
    std::list<Peer> peers;
    for (int i = 0; i < 3; ++i) peers.emplace_back(fixture, servers, lease(60s));
    std::atomic<int> inside = 0, wrong = 0, done = 0;
    const MonotonicTime start = fixture.runtime.now();
    {
      std::list<Task> tasks;
      for (Peer& peer : peers) {
        for (int i = 0; i < 2; ++i) {
          tasks.push_back(fixture.runtime.spawn("client", [&] {
            for (int round = 0; round < kRounds; ++round) {
              const std::unique_lock guard(*peer.lock);
              if (++inside != 1) ++wrong;
              fixture.runtime.yield();
              --inside;
              ++done;
            }
          }));
        }
      }
    }
    EXPECT_EQ(done, 6 * kRounds);
    EXPECT_EQ(wrong, 0);
    EXPECT_LT(fixture.runtime.now() - start, 60s);  // by no lease
    Peer& a = peers.front();
    eventually(fixture, [&] { return !a.has(0) && !a.has(1) && !a.has(2); });
  });
}

TEST_P(RedlockTest, ForeignTypesAreRejected) {
  run(3, [](Fixture& fixture, Servers& servers) {
    Peer a(fixture, servers, lease(60s));
    a.ask_server(0, {"SET", "k", "something else"});
    EXPECT_TRUE(a.lock->try_lock());  // one server that cannot
    a.lock->unlock();
    a.ask_server(1, {"SET", "k", "something else"});
    EXPECT_THROW(a.lock->lock(), Rejected);
    eventually(fixture, [&] { return !a.has(2); });
    EXPECT_THROW(static_cast<void>(a.lock->try_lock()), Rejected);
    eventually(fixture, [&] { return !a.has(2); });
  });
}

// Two records of one name on servers of their own are two locks; on the same servers they are one.
TEST_P(RedlockTest, TwoOfOneNameInAMultiLock) {
  run(2, [](Fixture& fixture, Servers& servers) {
    redis::Client one(fixture.runtime, fixture.network, to(servers.endpoint(0), 0));
    redis::Client two(fixture.runtime, fixture.network, to(servers.endpoint(1), 1));
    Redlocks here({&one}, lease(60s)), there({&two}, lease(60s));
    Redlocks both({&one, &two}, lease(60s)), turned({&two, &one}, lease(60s));
    MultiLock multi({here.obtain("k"), there.obtain("k")});
    multi.lock();
    EXPECT_EQ(ask(one, {"EXISTS", "k"}).integer + ask(two, {"EXISTS", "k"}).integer, 2);
    multi.release();
    EXPECT_THROW(MultiLock({both.obtain("k"), turned.obtain("k")}), std::invalid_argument);
    EXPECT_NO_THROW(MultiLock({both.obtain("k"), turned.obtain("l")}));
  });
}

// Everything is gone while requests are under way, debts are to be paid and a hold is watched.
TEST_P(RedlockTest, TheEndWhileRequestsAreUnderWay) {
  run(3, [](Fixture& fixture, Servers& servers) {
    for (int round = 0; round < 5; ++round) {
      RedlockOptions options = lease(60s);
      options.node_timeout = 50ms;
      Peer a(fixture, servers, options);
      a.link(2).stall(true);
      a.lock->lock();  // the third server's voter is still out
      if (round % 2 == 0) a.lock->unlock();
      for (const std::size_t i : {0u, 1u}) a.ask_server(i, {"DEL", "k"});
    }
    SUCCEED();
  });
}

}  // namespace
}  // namespace holdfast
