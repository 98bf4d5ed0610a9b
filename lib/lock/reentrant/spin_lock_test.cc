// The spin lock: how it waits. All else is the reentrant lock's.
#include "lib/lock/reentrant/reentrant_lock.h"

#include <gtest/gtest.h>

#include <list>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::RelayedPeer;
using testing::Stand;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<SpinLocks>;

class SpinLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Stand&)>& body) { testing::on_stand(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, SpinLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(SpinLockTest, NobodySubscribes) {
  run([](Stand& stand) {
    Peer a(stand, {.lease = 60s});
    RelayedPeer<SpinLocks> b(stand, {.lease = 60s});
    const auto held = a.locks.obtain("k"), lock = b.peer.locks.obtain("k");
    held->lock();
    b.relay.count("SUBSCRIBE");
    Task waiter = stand.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    b.peer.witness.wait_for(Kind::waiting);
    stand.runtime.sleep_for(300ms);
    EXPECT_EQ(a.ask({"PUBSUB", "CHANNELS"}).items.size(), 0u);
    held->unlock();
    waiter.join();
    EXPECT_EQ(b.relay.counted(), 0);
    EXPECT_EQ(a.ask({"DBSIZE"}).integer, 0);
  });
}

// 1, 2, 4 .. 128 ms, half of each drawn: at most so many questions in a time; on a loaded machine fewer.
TEST_P(SpinLockTest, TheBackOffGrowsAndIsBounded) {
  run([](Stand& stand) {
    Peer a(stand, {.lease = 60s});
    RelayedPeer<SpinLocks> b(stand, {.lease = 60s});
    a.ask({"SCRIPT", "LOAD", kReentrantAcquire.text});
    const auto held = a.locks.obtain("k"), lock = b.peer.locks.obtain("k");
    held->lock();
    b.peer.ask({"PING"});
    b.relay.count("EVALSHA");
    const MonotonicTime start = stand.runtime.now();
    std::list<Task> waiters;  // the tasks of a process do not spin each for itself
    for (int i = 0; i < 5; ++i) {
      waiters.push_back(stand.runtime.spawn("client", [&] {
        lock->lock();
        lock->unlock();
      }));
    }
    b.peer.witness.wait_for(Kind::waiting);
    stand.runtime.sleep_until(start + 60ms);
    const int soon = b.relay.counted();
    const MonotonicTime then = stand.runtime.now();
    stand.runtime.sleep_for(2s);
    const int later = b.relay.counted() - soon;
    const Duration elapsed = stand.runtime.now() - then;
    EXPECT_LE(later, elapsed / 32ms + 2);  // 64 ms at least once it has grown; it may still grow at first
    EXPECT_GE(later, 2);
    if (stand.where == Where::embedded) {
      EXPECT_GE(soon, 6);
      EXPECT_LE(soon, 8);
      EXPECT_GE(later, 2000 / 130);
      EXPECT_LE(later, 2000 / 64 + 2);
    }
    held->unlock();
    const MonotonicTime released = stand.runtime.now();
    b.peer.witness.wait_for(Kind::acquired);
    if (stand.where == Where::embedded) {
      EXPECT_LE(stand.runtime.now() - released, 130ms);
    }
    waiters.clear();
  });
}

// The end of the holder's lease is not overslept.
TEST_P(SpinLockTest, LooksAtTheEndOfTheLease) {
  run([](Stand& stand) {
    Peer peer(stand, {.lease = 60s});
    peer.ask({"SET", "k", "somebody", "PX", "1000"});
    const MonotonicTime start = stand.runtime.now();
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    if (stand.where == Where::embedded) {
      EXPECT_LE(stand.runtime.now() - start, 1130ms);
    }
    lock->unlock();
  });
}

TEST_P(SpinLockTest, GivesUpInTime) {
  run([](Stand& stand) {
    Peer a(stand, {.lease = 60s}), b(stand, {.lease = 60s});
    const auto held = a.locks.obtain("k"), lock = b.locks.obtain("k");
    held->lock();
    const MonotonicTime start = stand.runtime.now();
    EXPECT_FALSE(lock->try_lock_for(200ms));
    if (stand.where == Where::embedded) {
      EXPECT_EQ(stand.runtime.now() - start, 200ms);
    }
    std::stop_source stop;
    Task waiter = stand.runtime.spawn(
        "client", [&] { EXPECT_THROW(lock->try_lock_until(kNever, stop.get_token()), Interrupted); });
    b.witness.wait_for(Kind::waiting, 2);
    stop.request_stop();
    waiter.join();
    held->unlock();
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  });
}

}  // namespace
}  // namespace holdfast
