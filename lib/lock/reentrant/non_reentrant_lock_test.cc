// The non-reentrant lock: what a second acquire by the holder is told. All else is the reentrant lock's.
#include "lib/lock/reentrant/reentrant_lock.h"

#include <gtest/gtest.h>

#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<NonReentrantLocks>;

class NonReentrantLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, NonReentrantLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(NonReentrantLockTest, ASecondAcquireIsTold) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 600s});
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    const std::string owner = lock->acquisition();
    try {
      lock->lock();
      ADD_FAILURE() << "granted twice";
    } catch (const WouldDeadlock& error) {
      EXPECT_EQ(error.key(), "k");
      EXPECT_FALSE(error.may_have_executed());
    }
    EXPECT_THROW(static_cast<void>(lock->try_lock_until(kNever)), WouldDeadlock);  // a wait without end, too
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_FALSE(lock->try_lock());
    EXPECT_FALSE(lock->try_lock_for(500s));  // at once: nobody else can end this wait
    EXPECT_FALSE(lock->try_lock_until(fixture.runtime.now()));
    EXPECT_LT(fixture.runtime.now() - start, 400s);
    // None of that has touched the hold.
    EXPECT_EQ(lock->hold_count(), 1);
    EXPECT_EQ(lock->acquisition(), owner);
    EXPECT_TRUE(lock->is_held_by_me());
    EXPECT_EQ(peer.ask({"GET", "k"}).text, owner);
    lock->unlock();
    EXPECT_EQ(peer.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_THROW(lock->release(), NotOwner);
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  });
}

TEST_P(NonReentrantLockTest, ALostHoldIsToldAsALoss) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 200ms});
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    peer.ask({"DEL", "k"});
    peer.observer.wait_for(Kind::lost);
    EXPECT_THROW(lock->lock(), LockLost);
    EXPECT_THROW(static_cast<void>(lock->try_lock()), LockLost);
    EXPECT_THROW(lock->release(), LockLost);
    lock->lock();
    lock->unlock();
  });
}

TEST_P(NonReentrantLockTest, OthersWaitAsForAReentrantOne) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 600s});
    testing::Peer<ReentrantLocks> other(fixture, {.lease = 600s});
    const auto lock = peer.locks.obtain("k"), reentrant = other.locks.obtain("k");
    const MonotonicTime start = fixture.runtime.now();
    lock->lock();
    EXPECT_FALSE(reentrant->try_lock());
    Task neighbour = fixture.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    Task stranger = fixture.runtime.spawn("client", [&] {
      reentrant->lock();
      reentrant->unlock();
    });
    other.observer.wait_for(Kind::waiting);
    lock->unlock();
    neighbour.join();
    stranger.join();
    EXPECT_LT(fixture.runtime.now() - start, 500s);
  });
}

}  // namespace
}  // namespace holdfast
