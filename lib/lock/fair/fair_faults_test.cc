// The fair lock when waiters die, when the wire fails, and when Redis forgets: who is next, and how soon.
#include <gtest/gtest.h>

#include <atomic>
#include <list>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/fair_queue.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::FairQueue;
using testing::Fixture;
using testing::RelayedPeer;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<FairLocks>;

constexpr const char* kQueue = "holdfast:fair:queue:{k}";
constexpr const char* kPatience = "holdfast:fair:patience:{k}";

// A holder "a" that goes straight to the server, a queue on "k"; the scripts are known to the server.
struct Scene {
  Scene(Fixture& stand_in, Duration lease_in)
      : fixture(stand_in), lease(lease_in), a(fixture, {.lease = lease}), queue(fixture, "k") {
    for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease, &kReentrantRenew}) {
      a.ask({"SCRIPT", "LOAD", script->text});
    }
    held = a.locks.obtain("k");
    held->lock();
  }
  Fixture& fixture;
  const Duration lease;
  Peer a;
  FairQueue queue;
  std::shared_ptr<Lock> held;
};

class FairFaults : public ::testing::TestWithParam<Where> {
 protected:
  static void run(Duration lease, const std::function<void(Scene&)>& body) {
    testing::with_fixture(GetParam(), [&](Fixture& fixture) {
      Scene scene(fixture, lease);
      body(scene);
    });
  }
  // Only in virtual time a test can say how long something takes at most.
  static bool exact() { return GetParam() == Where::embedded; }
};

INSTANTIATE_TEST_SUITE_P(Ports, FairFaults, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(FairFaults, ALostReplyKeepsThePlace) {
  run(60s, [](Scene& scene) {
    RelayedPeer<FairLocks> b(scene.fixture, {.lease = scene.lease});
    b.peer.ask({"PING"});
    b.link.lose_reply_to(std::string(kReentrantAcquire.sha1), 3);
    scene.queue.join(b.peer.locks.obtain("k"));
    const redis::Reply first = scene.a.ask({"ZRANGE", kQueue, "0", "-1", "WITHSCORES"});
    scene.queue.join(scene.a.locks.obtain("other"), 1);  // somebody who passes by: another key
    Peer c(scene.fixture, {.lease = scene.lease});
    scene.queue.join(c.locks.obtain("k"), 2);
    b.peer.observer.wait_for(Kind::queued, 2);  // all those replies are lost, and the subscription stands
    const redis::Reply then = scene.a.ask({"ZRANGE", kQueue, "0", "0", "WITHSCORES"});
    EXPECT_EQ(first, then);
    scene.held->unlock();
    scene.queue.wait_all_granted();
    EXPECT_EQ(scene.queue.order(), (std::vector{1, 0, 2}));
    EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 0);
  });
}

// The server grants to the head, which never hears of it.
TEST_P(FairFaults, AGrantWhoseReplyWasLost) {
  run(60s, [](Scene& scene) {
    RelayedPeer<FairLocks> b(scene.fixture, {.lease = scene.lease});
    const auto lock = b.peer.locks.obtain("k");
    scene.held->unlock();
    b.peer.ask({"PING"});
    b.link.lose_reply_to(std::string(kReentrantAcquire.sha1), 2);
    lock->lock();
    EXPECT_EQ(scene.a.ask({"GET", "k"}).text, lock->acquisition());
    EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 1);  // it does not stand in the queue as well
    b.link.lose_reply_to(std::string(kReentrantRelease.sha1));
    lock->unlock();
    EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 0);
    EXPECT_EQ(b.peer.observer.count(Kind::lost), 0u);
  });
}

// A grant that nobody saw is given back when the acquire gives up, and the next in the queue gets it.
TEST_P(FairFaults, GivingUpUndoesAGrantNobodySaw) {
  run(600s, [](Scene& scene) {
    const MonotonicTime start = scene.fixture.runtime.now();
    scene.held->unlock();
    RelayedPeer<FairLocks> b(scene.fixture, {.lease = scene.lease});
    b.peer.ask({"PING"});
    b.link.lose_reply_to(std::string(kReentrantAcquire.sha1), 1'000'000);
    EXPECT_THROW(static_cast<void>(b.peer.locks.obtain("k")->try_lock_for(150ms)), Unavailable);
    Peer c(scene.fixture, {.lease = scene.lease});
    const auto lock = c.locks.obtain("k");
    EXPECT_TRUE(lock->try_lock_for(300s));
    lock->unlock();
    EXPECT_LT(scene.fixture.runtime.now() - start, 300s);
  });
}

// A waiter that died at the head: skipped when it has not asked for a lease and a third.
TEST_P(FairFaults, ADeadHeadIsSkipped) {
  run(600ms, [](Scene& scene) {
    Peer b(scene.fixture, {.lease = scene.lease});
    const MonotonicTime before = scene.fixture.runtime.now();
    FairQueue::add_ghost(scene.fixture, "k", "ghost:1", scene.lease);
    const MonotonicTime died = scene.fixture.runtime.now();
    scene.queue.join(b.locks.obtain("k"), 2);
    scene.held->unlock();
    EXPECT_FALSE(scene.held->try_lock());  // free, but the ghost may be alive
    scene.queue.wait_all_granted();
    const MonotonicTime granted = b.observer.last(Kind::acquired);
    EXPECT_GE(granted - before, 800ms - 1ms);
    if (exact()) {
      EXPECT_LE(granted - died, 800ms + 25ms);
    }
    EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 0);
  });
}

TEST_P(FairFaults, TwoDeadHeadsAreSkippedTogether) {
  run(600ms, [](Scene& scene) {
    Peer b(scene.fixture, {.lease = scene.lease}), c(scene.fixture, {.lease = scene.lease});
    FairQueue::add_ghost(scene.fixture, "k", "ghost:1", scene.lease);
    scene.fixture.runtime.sleep_for(100ms);
    FairQueue::add_ghost(scene.fixture, "k", "ghost:2", scene.lease);
    const MonotonicTime died = scene.fixture.runtime.now();
    scene.queue.join(b.locks.obtain("k"), 3);
    scene.queue.join(c.locks.obtain("k"), 4);
    scene.held->unlock();
    scene.queue.wait_all_granted();
    EXPECT_EQ(scene.queue.order(), (std::vector{0, 1}));
    if (exact()) {
      EXPECT_LE(b.observer.last(Kind::acquired) - died, 800ms + 50ms);
    }
  });
}

// The head died after the release had told it: the next one was told until when to wait.
TEST_P(FairFaults, TheNextOneKnowsWhenTheHeadCountsAsDead) {
  run(60s, [](Scene& scene) {
    Peer b(scene.fixture, {.lease = scene.lease});
    FairQueue::add_ghost(scene.fixture, "k", "ghost:1", 300ms);  // an impatient one, with a lease of its own
    const MonotonicTime died = scene.fixture.runtime.now();
    scene.queue.join(b.locks.obtain("k"), 2);
    b.observer.wait_for(Kind::queued, 2);
    scene.held->unlock();
    scene.queue.wait_all_granted();
    if (exact()) {
      EXPECT_LE(scene.fixture.runtime.now() - died, 400ms + 25ms);  // the ghost's lease and a third
    }
  });
}

TEST_P(FairFaults, AnExpiredHolderIsFollowedByTheHead) {
  run(300ms, [](Scene& scene) {
    scene.held->unlock();
    Task holder = scene.fixture.runtime.spawn("client", [&] { scene.held->lock(); });
    holder.join();  // without a release: renewed no more, as after a crash
    Peer b(scene.fixture, {.lease = 60s}), c(scene.fixture, {.lease = 60s});
    scene.queue.join(b.locks.obtain("k"));
    scene.queue.join(c.locks.obtain("k"));
    scene.queue.wait_all_granted();
    EXPECT_EQ(scene.queue.order(), (std::vector{0, 1}));
  });
}

// Redis forgot the queue (an eviction, an operator): nobody is called, and all look again after a lease at
// most.
TEST_P(FairFaults, TheQueueVanishes) {
  run(1s, [](Scene& scene) {
    Peer b(scene.fixture, {.lease = scene.lease}), c(scene.fixture, {.lease = scene.lease});
    scene.queue.join(b.locks.obtain("k"));
    scene.queue.join(c.locks.obtain("k"));
    b.observer.wait_for(Kind::queued, 2);
    c.observer.wait_for(Kind::queued, 2);
    scene.a.ask({"DEL", kQueue});
    const MonotonicTime vanished = scene.fixture.runtime.now();
    scene.held->unlock();
    scene.queue.wait_all_granted();
    if (exact()) {
      EXPECT_LE(scene.fixture.runtime.now() - vanished, scene.lease + 50ms);
    }
  });
}

TEST_P(FairFaults, TheirPatienceVanishes) {
  run(600s, [](Scene& scene) {
    const MonotonicTime start = scene.fixture.runtime.now();
    Peer b(scene.fixture, {.lease = scene.lease}), c(scene.fixture, {.lease = scene.lease});
    scene.queue.join(b.locks.obtain("k"));
    scene.queue.join(c.locks.obtain("k"));
    b.observer.wait_for(Kind::queued, 2);
    c.observer.wait_for(Kind::queued, 2);
    scene.a.ask({"DEL", kPatience});
    scene.held->unlock();
    scene.queue.wait_all_granted();
    EXPECT_LT(scene.fixture.runtime.now() - start, 300s);
    EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 0);
  });
}

// One score is missing: that one counts as dead, and no script stumbles over it.
TEST_P(FairFaults, AWaiterWithoutPatienceIsSkipped) {
  run(600s, [](Scene& scene) {
    const MonotonicTime start = scene.fixture.runtime.now();
    FairQueue::add_ghost(scene.fixture, "k", "ghost:1", 600s);
    scene.a.ask({"ZREM", kPatience, "ghost:1"});
    Peer b(scene.fixture, {.lease = scene.lease});
    scene.queue.join(b.locks.obtain("k"), 1);
    FairQueue::add_ghost(scene.fixture, "k", "ghost:2", 600s);
    scene.a.ask({"ZREM", kPatience, "ghost:2"});
    scene.held->unlock();
    scene.queue.wait_all_granted();
    EXPECT_TRUE(scene.held->try_lock());
    scene.held->unlock();
    EXPECT_LT(scene.fixture.runtime.now() - start, 300s);
    EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 0);
  });
}

TEST_P(FairFaults, NoWakeUpIsLostWithTheConnection) {
  run(600s, [](Scene& scene) {
    const MonotonicTime start = scene.fixture.runtime.now();
    RelayedPeer<FairLocks> b(scene.fixture, {.lease = scene.lease});
    scene.queue.join(b.peer.locks.obtain("k"));
    b.peer.observer.wait_for(Kind::queued, 2);
    b.link.lose_reply_to("", 1'000'000);
    scene.a.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
    scene.held->unlock();
    b.link.lose_reply_to("", 0);
    scene.queue.wait_all_granted();
    EXPECT_LT(scene.fixture.runtime.now() - start, 300s);
  });
}

// Every connection of a waiter breaks, again and again: it keeps its place.
TEST_P(FairFaults, ReconnectingKeepsThePlace) {
  run(60s, [](Scene& scene) {
    Peer b(scene.fixture, {.lease = scene.lease}), c(scene.fixture, {.lease = scene.lease});
    scene.queue.join(b.locks.obtain("k"));
    scene.queue.join(c.locks.obtain("k"));
    const redis::Reply before = scene.a.ask({"ZRANGE", kQueue, "0", "-1", "WITHSCORES"});
    for (std::size_t round = 0; round < 3; ++round) {
      b.observer.wait_for(Kind::queued, 2 + round);
      scene.a.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
      scene.a.ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    }
    b.observer.wait_for(Kind::queued, 5);
    EXPECT_EQ(scene.a.ask({"ZRANGE", kQueue, "0", "-1", "WITHSCORES"}), before);
    scene.held->unlock();
    scene.queue.wait_all_granted();
    EXPECT_EQ(scene.queue.order(), (std::vector{0, 1}));
  });
}

// Each takes its leave by a request of its own. They do not wait for one another: new ones would come faster
// than the old ones go, and whoever is called would have given up already.
TEST_P(FairFaults, ManyWhoGiveUpLeaveTogether) {
  if (!exact()) return;
  run(60s, [](Scene& scene) {
    constexpr int kMany = 64;
    Runtime& runtime = scene.fixture.runtime;
    Peer b(scene.fixture, {.lease = scene.lease});
    b.ask({"PING"});  // connected
    const MonotonicTime asked = runtime.now();
    b.ask({"PING"});
    const Duration round_trip = runtime.now() - asked;
    const MonotonicTime end = runtime.now() + 1s;
    {
      std::list<Task> waiters;
      for (int i = 0; i < kMany; ++i) {
        waiters.push_back(
            runtime.spawn("client", [&] { EXPECT_FALSE(b.locks.obtain("k")->try_lock_until(end)); }));
      }
      scene.queue.wait_length(kMany);
    }
    while (scene.a.ask({"ZCARD", kQueue}).integer > 0) continue;
    EXPECT_LT(runtime.now() - end, kMany / 2 * round_trip);
  });
}

TEST_P(FairFaults, ForeignTypesAreRejected) {
  run(60s, [](Scene& scene) {
    Peer b(scene.fixture, {.lease = scene.lease});
    for (const char* key : {kQueue, kPatience}) {
      scene.a.ask({"SET", key, "something else"});
      EXPECT_THROW(static_cast<void>(b.locks.obtain("k")->try_lock_for(10s)), Rejected) << key;
      scene.a.ask({"DEL", kQueue, kPatience});
    }
    scene.held->unlock();
    scene.a.ask({"RPUSH", "k", "something else"});
    EXPECT_THROW(b.locks.obtain("k")->lock(), Rejected);
    EXPECT_THROW(b.locks.obtain("k")->force_unlock(), Rejected);
    EXPECT_EQ(scene.a.ask({"LLEN", "k"}).integer, 1);
    scene.a.ask({"SET", "k", "the payroll"});
    EXPECT_THROW(b.locks.obtain("k")->lock(), Rejected);
    EXPECT_THROW(b.locks.obtain("k")->force_unlock(), Rejected);
    EXPECT_EQ(scene.a.ask({"GET", "k"}).text, "the payroll");
  });
}

// The record turns into something else under a waiter: it leaves the queue all the same.
TEST_P(FairFaults, ARejectedWaiterLeavesTheQueue) {
  run(60s, [](Scene& scene) {
    Peer b(scene.fixture, {.lease = scene.lease});
    Task waiter =
        scene.fixture.runtime.spawn("client", [&] { EXPECT_THROW(b.locks.obtain("k")->lock(), Rejected); });
    b.observer.wait_for(Kind::queued, 2);
    scene.a.ask({"DEL", "k"});
    scene.a.ask({"RPUSH", "k", "something else"});
    const std::string owner = scene.a.ask({"ZRANGE", kQueue, "0", "0"}).items.at(0).text;
    scene.a.ask({"PUBLISH", "holdfast:wake:" + owner.substr(0, owner.find(':')), owner + " 0"});
    waiter.join();
    scene.queue.wait_length(0);
    EXPECT_THROW(scene.held->release(), Rejected);
  });
}

// --- processes that crash or sleep -------------------------------------------------------------------------

class FairProcesses : public FairFaults {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FairProcesses);  // without the harness
INSTANTIATE_TEST_SUITE_P(Worlds, FairProcesses, ::testing::ValuesIn(testing::worlds()),
                         [](const auto& info) { return testing::to_string(info.param); });

// A process of its own that waits for "k", notes that it got it, and releases.
class Waiter {
 public:
  Waiter(Scene& scene, const std::string& name, Duration lease, int length)
      : process(scene.fixture.add_process(name)) {
    Runtime& harness = scene.fixture.runtime;
    process.start("client", [this, &scene, &harness, lease] {
      redis::Client client(process.runtime(), process.network(), scene.fixture.options());
      FairLocks locks(client, {.lease = lease});
      const auto lock = locks.obtain("k");
      lock->lock();
      granted = harness.now();
      lock->unlock();
    });
    scene.queue.wait_length(length);
  }
  void wait_granted(Runtime& harness) {
    while (granted == MonotonicTime{}) harness.sleep_for(1ms);
  }
  testing::OtherProcess& process;
  MonotonicTime granted{};
};

TEST_P(FairProcesses, ACrashedHeadIsSkipped) {
  run(600ms, [](Scene& scene) {
    Runtime& harness = scene.fixture.runtime;
    Waiter first(scene, "c1", scene.lease, 1), second(scene, "c2", scene.lease, 2),
        third(scene, "c3", scene.lease, 3);
    scene.a.observer.wait_for(Kind::renewed, 4);
    first.process.crash();
    second.process.crash();
    const MonotonicTime died = harness.now();
    scene.held->unlock();
    third.wait_granted(harness);
    EXPECT_EQ(first.granted, MonotonicTime{});
    EXPECT_EQ(second.granted, MonotonicTime{});
    if (exact()) {
      EXPECT_LE(third.granted - died, 800ms + 50ms);
    }
  });
}

// A waiter that sleeps for longer than its patience has lost its place, and comes in again at the end.
TEST_P(FairProcesses, APausedWaiterComesInAgainAtTheEnd) {
  run(600ms, [](Scene& scene) {
    Runtime& harness = scene.fixture.runtime;
    Waiter first(scene, "c1", scene.lease, 1), second(scene, "c2", scene.lease, 2);
    first.process.pause();
    harness.sleep_for(1000ms);
    scene.held->unlock();
    second.wait_granted(harness);
    EXPECT_EQ(first.granted, MonotonicTime{});
    first.process.resume();
    first.wait_granted(harness);
  });
}

// A short sleep costs nothing.
TEST_P(FairProcesses, AShortPauseKeepsThePlace) {
  run(600ms, [](Scene& scene) {
    Runtime& harness = scene.fixture.runtime;
    Waiter first(scene, "c1", scene.lease, 1), second(scene, "c2", scene.lease, 2);
    first.process.pause();
    harness.sleep_for(100ms);
    scene.held->unlock();
    first.process.resume();
    second.wait_granted(harness);
    first.wait_granted(harness);
    EXPECT_LT(first.granted, second.granted);
  });
}

}  // namespace
}  // namespace holdfast
