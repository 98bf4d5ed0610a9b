// The spin lock: how it waits. All else is the reentrant lock's.
#include "lib/lock/reentrant/reentrant_lock.h"

#include <gtest/gtest.h>

#include <list>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RelayedPeer;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<SpinLocks>;

class SpinLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, SpinLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(SpinLockTest, NobodySubscribes) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s});
    RelayedPeer<SpinLocks> b(fixture, {.lease = 60s});
    const auto held = a.locks.obtain("k"), lock = b.peer.locks.obtain("k");
    held->lock();
    b.link.count("SUBSCRIBE");
    Task waiter = fixture.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    b.peer.observer.wait_for(Kind::waiting);
    fixture.runtime.sleep_for(300ms);
    EXPECT_EQ(a.ask({"PUBSUB", "CHANNELS"}).items.size(), 0u);
    held->unlock();
    waiter.join();
    EXPECT_EQ(b.link.counted(), 0);
    EXPECT_EQ(a.ask({"DBSIZE"}).integer, 0);
  });
}

// 1, 2, 4 .. 128 ms, half of each drawn: at most so many questions in a time; on a loaded machine fewer.
TEST_P(SpinLockTest, TheBackOffGrowsAndIsBounded) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s});
    RelayedPeer<SpinLocks> b(fixture, {.lease = 60s});
    a.ask({"SCRIPT", "LOAD", kReentrantAcquire.text});
    const auto held = a.locks.obtain("k"), lock = b.peer.locks.obtain("k");
    held->lock();
    b.peer.ask({"PING"});
    b.link.count("EVALSHA");
    const MonotonicTime start = fixture.runtime.now();
    std::list<Task> waiters;  // the tasks of a process do not spin each for itself
    for (int i = 0; i < 5; ++i) {
      waiters.push_back(fixture.runtime.spawn("client", [&] {
        lock->lock();
        lock->unlock();
      }));
    }
    b.peer.observer.wait_for(Kind::waiting);
    fixture.runtime.sleep_until(start + 60ms);
    const int soon = b.link.counted();
    const MonotonicTime then = fixture.runtime.now();
    fixture.runtime.sleep_for(2s);
    const int later = b.link.counted() - soon;
    const Duration elapsed = fixture.runtime.now() - then;
    EXPECT_LE(later, elapsed / 32ms + 2);  // 64 ms at least once it has grown; it may still grow at first
    EXPECT_GE(later, 2);
    if (fixture.where == Where::embedded) {
      EXPECT_GE(soon, 6);
      EXPECT_LE(soon, 8);
      EXPECT_GE(later, 2000 / 130);
      EXPECT_LE(later, 2000 / 64 + 2);
    }
    held->unlock();
    const MonotonicTime released = fixture.runtime.now();
    b.peer.observer.wait_for(Kind::acquired);
    if (fixture.where == Where::embedded) {
      EXPECT_LE(fixture.runtime.now() - released, 130ms);
    }
    waiters.clear();
  });
}

// The end of the holder's lease is not overslept.
TEST_P(SpinLockTest, LooksAtTheEndOfTheLease) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 60s});
    peer.ask({"SET", "k", "somebody", "PX", "1000"});
    const MonotonicTime start = fixture.runtime.now();
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    if (fixture.where == Where::embedded) {
      EXPECT_LE(fixture.runtime.now() - start, 1130ms);
    }
    lock->unlock();
  });
}

TEST_P(SpinLockTest, GivesUpInTime) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto held = a.locks.obtain("k"), lock = b.locks.obtain("k");
    held->lock();
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_FALSE(lock->try_lock_for(200ms));
    if (fixture.where == Where::embedded) {
      EXPECT_EQ(fixture.runtime.now() - start, 200ms);
    }
    const std::size_t waited = b.observer.count(Kind::waiting);
    std::stop_source stop;
    Task waiter = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(lock->try_lock_until(kNever, stop.get_token())), Interrupted);
    });
    b.observer.wait_for(Kind::waiting, waited + 1);
    stop.request_stop();
    waiter.join();
    held->unlock();
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  });
}

}  // namespace
}  // namespace holdfast
