// Waiters that the server calls one at a time: who is called, what a wait costs, and that no call is lost
// with those who cannot follow it.
#include "lib/lock/waiting/wake_channel.h"

#include <gtest/gtest.h>

#include <list>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/peer.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<ReentrantLocks>;
using RelayedPeer = testing::RelayedPeer<ReentrantLocks>;

constexpr const char* kQueue = "holdfast:fair:queue:{k}";
constexpr const char* kPatience = "holdfast:fair:patience:{k}";

class WakeChannelTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
  // Only in virtual time a test can say how long something takes at most.
  static bool exact() { return GetParam() == Where::embedded; }
};

INSTANTIATE_TEST_SUITE_P(Ports, WakeChannelTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// Waits for "k" in a task of its own, holds it and gives it back.
template <class PeerT>
Task waits(Fixture& fixture, PeerT& peer, Duration hold = Duration::zero()) {
  return fixture.runtime.spawn("client", [&fixture, &peer, hold] {
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    fixture.runtime.sleep_for(hold);
    lock->unlock();
  });
}

void wait_until_registered(Fixture& fixture, Peer& asker, int count) {
  while (asker.ask({"ZCARD", kQueue}).integer != count) fixture.runtime.sleep_for(1ms);
}

void wait_until_listening(Fixture& fixture, Peer& asker, std::size_t processes) {
  while (asker.ask({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size() < processes) {
    fixture.runtime.sleep_for(1ms);
  }
  fixture.runtime.sleep_for(20ms);  // who listens looks once more; a slow look only makes a test weaker
}

// Five processes wait: each is granted once, by the release, and none of them asks.
TEST_P(WakeChannelTest, AReleaseCallsOne) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s});
    std::list<RelayedPeer> waiters;
    const auto lock = a.locks.obtain("k");
    lock->lock();
    std::list<Task> tasks;
    for (int i = 0; i < 5; ++i) {
      RelayedPeer& b = waiters.emplace_back(fixture, LockOptions{.lease = 60s});
      b.peer.ask({"PING"});
      tasks.push_back(waits(fixture, b.peer));
      wait_until_registered(fixture, a, i + 1);
    }
    wait_until_listening(fixture, a, 5);
    for (RelayedPeer& b : waiters) b.link.count(std::string(kReentrantAcquire.sha1));
    lock->unlock();
    tasks.clear();
    int asked = 0;
    for (RelayedPeer& b : waiters) asked += b.link.counted();
    if (exact()) {
      EXPECT_EQ(asked, 0);
    }
    EXPECT_EQ(a.ask({"DBSIZE"}).integer, 0);
  });
}

// The first ones' connections are dead; the server knows it, and serves the next one.
TEST_P(WakeChannelTest, WhoDoesNotListenIsPassedOver) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 600s}), b(fixture, {.lease = 600s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    const std::string alive_until = std::to_string(testing::server_ms(a.client) + 600'000);
    for (const char* ticket : {"1.5", "2.5"}) {
      const std::string died = "died:" + std::string(ticket, 1);
      a.ask({"ZADD", kQueue, ticket, died});
      a.ask({"ZADD", kPatience, alive_until, died});
    }
    const MonotonicTime start = fixture.runtime.now();
    Task task = waits(fixture, b);
    wait_until_registered(fixture, a, 3);
    wait_until_listening(fixture, a, 1);
    lock->unlock();
    task.join();
    EXPECT_LT(fixture.runtime.now() - start, 300s);
    EXPECT_EQ(a.ask({"ZCARD", kQueue}).integer, 2);  // they keep their places
  });
}

// Who became the holder and gives up hands the lock on.
TEST_P(WakeChannelTest, WhoGivesUpHandsTheCallOn) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 600s}), c(fixture, {.lease = 600s});
    RelayedPeer b(fixture, {.lease = 600s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    b.peer.ask({"PING"});
    b.link.count(std::string(kReentrantAcquire.sha1));
    std::stop_source stop;
    Task impatient = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(b.peer.locks.obtain("k")->try_lock_until(kNever, stop.get_token())),
                   Interrupted);
    });
    wait_until_registered(fixture, a, 1);
    const MonotonicTime start = fixture.runtime.now();
    Task patient = waits(fixture, c);
    wait_until_registered(fixture, a, 2);
    wait_until_listening(fixture, a, 2);
    while (b.link.counted() < 2) fixture.runtime.sleep_for(1ms);  // it looks once more when it listens
    b.peer.ask({"PING"});                                         // replies come in order: it was answered
    b.link.stall(true);                                           // it is called, and does not hear it
    const MonotonicTime released = fixture.runtime.now();
    lock->unlock();
    stop.request_stop();
    impatient.join();  // its leave is on the way, and goes on in the background
    b.link.stall(false);
    patient.join();
    EXPECT_LT(fixture.runtime.now() - start, 300s);
    if (exact()) {
      EXPECT_LT(c.observer.last(Kind::acquired) - released, 110ms);  // the leave is waited for so long
    }
    wait_until_registered(fixture, a, 0);
  });
}

// A subscription serves many waits, also of many keys, and ends when nobody has waited for a while.
TEST_P(WakeChannelTest, OneSubscriptionServesManyWaits) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s});
    RelayedPeer b(fixture, {.lease = 60s});
    b.peer.ask({"PING"});
    b.link.count("SUBSCRIBE");
    for (int round = 0; round < 4; ++round) {
      for (const char* key : {"k", "l"}) {
        const auto held = a.locks.obtain(key);
        held->lock();
        Task task = fixture.runtime.spawn("client", [&] {
          const auto lock = b.peer.locks.obtain(key);
          lock->lock();
          lock->unlock();
        });
        b.peer.observer.wait_for(Kind::waiting,
                                 static_cast<std::size_t>(b.peer.observer.count(Kind::acquired)) + 1);
        held->unlock();
        task.join();
      }
    }
    EXPECT_GE(b.link.counted(), 1);
    if (!exact()) return;  // on a machine that stands still for so long a subscription may end in between
    EXPECT_EQ(b.link.counted(), 1);
    EXPECT_EQ(a.ask({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size(), 1u);
    fixture.runtime.sleep_for(WakeChannel::kLinger + 1s);
    EXPECT_EQ(a.ask({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size(), 0u);
  });
}

// The connection that brings the calls breaks while the lock is released: the waiter looks when it is back.
TEST_P(WakeChannelTest, NoCallIsLostWithTheConnection) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 600s});
    RelayedPeer b(fixture, {.lease = 600s});
    b.peer.ask({"PING"});
    const MonotonicTime start = fixture.runtime.now();
    for (int round = 0; round < 3; ++round) {
      const auto lock = a.locks.obtain("k");
      lock->lock();
      Task task = waits(fixture, b.peer);
      wait_until_registered(fixture, a, 1);
      wait_until_listening(fixture, a, 1);
      b.link.lose_reply_to("", 1'000'000);
      a.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
      lock->unlock();
      b.link.lose_reply_to("", 0);
      task.join();
    }
    EXPECT_LT(fixture.runtime.now() - start, 300s);
  });
}

// The names of those who wait are lost (FLUSHALL, a failover): they look again when the lease that they were
// told of is over, and not later.
TEST_P(WakeChannelTest, LostNamesCostAtMostALease) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 600ms}), b(fixture, {.lease = 600s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    const MonotonicTime start = fixture.runtime.now();
    Task task = waits(fixture, b);
    wait_until_registered(fixture, a, 1);
    wait_until_listening(fixture, a, 1);
    a.ask({"DEL", kQueue});
    lock->unlock();
    task.join();
    EXPECT_LT(fixture.runtime.now() - start, 300s);
  });
}

// What anybody may publish there: at worst a question too many.
TEST_P(WakeChannelTest, NonsenseOnTheChannelDoesNoHarm) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    Task task = waits(fixture, b);
    wait_until_registered(fixture, a, 1);
    wait_until_listening(fixture, a, 1);
    const std::string owner = a.ask({"ZRANGE", kQueue, "0", "0"}).items.at(0).text;
    const std::string channel = "holdfast:wake:" + owner.substr(0, owner.find(':'));
    for (const std::string& message :
         {std::string(), std::string(" "), owner, owner + " soon", owner + " -9223372036854775807",
          owner + " 99999999999999999999", owner + " 0 0", std::string("somebody:1 0")}) {
      a.ask({"PUBLISH", channel, message});
    }
    fixture.runtime.sleep_for(5ms);
    EXPECT_EQ(b.observer.count(Kind::acquired), 0u);
    lock->unlock();
    task.join();
  });
}

}  // namespace
}  // namespace holdfast
