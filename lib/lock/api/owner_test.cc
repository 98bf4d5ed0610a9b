// Owners that are no tasks (owner.h), and acquiring without waiting (async_lock.h).
#include "lib/lock/api/owner.h"

#include <gtest/gtest.h>

#include <atomic>

#include "lib/lock/api/async_lock.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::LockKind;
using testing::Stand;
using testing::Where;
using Kind = LockEvent::Kind;

class OwnerTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Stand&)>& body) { testing::on_stand(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, OwnerTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(OwnerTest, AcquiredOnOneTaskReleasedOnAnother) {
  run([](Stand& stand) {
    for (const LockKind kind : testing::every_kind()) {
      AnyPeer peer(stand, kind, {.lease = 60s});
      const auto lock = peer.obtain("k");
      const Owner order(stand.runtime);
      Task first = stand.runtime.spawn("client", [&] {
        const ActAs me(stand.runtime, order);
        lock->lock();
      });
      first.join();
      EXPECT_FALSE(lock->is_held_by_me());
      EXPECT_THROW(lock->unlock(), NotOwner);
      Task second = stand.runtime.spawn("client", [&] {
        EXPECT_FALSE(lock->try_lock());
        const ActAs me(stand.runtime, order);
        EXPECT_TRUE(lock->is_held_by_me());
        EXPECT_EQ(lock->hold_count(), 1);
        EXPECT_NE(lock->acquisition(), "");
        lock->unlock();
      });
      second.join();
      EXPECT_TRUE(lock->try_lock());
      lock->unlock();
    }
  });
}

TEST_P(OwnerTest, TheHoldOutlivesTheTaskWhileTheOwnerLives) {
  run([](Stand& stand) {
    const Duration lease = stand.lease(300ms);
    std::vector<LockKind> kinds = testing::every_kind();
    if (stand.where != Where::embedded) kinds = {LockKind::reentrant};
    for (const LockKind kind : kinds) {
      AnyPeer peer(stand, kind, {.lease = lease});
      const auto lock = peer.obtain("k");
      auto order = std::make_unique<Owner>(stand.runtime);
      Task task = stand.runtime.spawn("client", [&] {
        const ActAs me(stand.runtime, *order);
        lock->lock();
      });
      task.join();
      peer.witness.wait_for(Kind::renewed, 4);
      const std::size_t renewed = peer.witness.count(Kind::renewed);
      order.reset();  // nobody is left who could release it
      peer.witness.wait_for(Kind::lost);
      EXPECT_LE(peer.witness.count(Kind::renewed), renewed + 2);  // one under way, one told late
      EXPECT_TRUE(lock->try_lock_for(60s));
      lock->unlock();
    }
  });
}

TEST_P(OwnerTest, CopiesAreTheSameAndScopesNest) {
  run([](Stand& stand) {
    AnyPeer peer(stand, LockKind::reentrant, {.lease = 60s});
    const auto a = peer.obtain("a"), b = peer.obtain("b");
    const Owner one(stand.runtime), two(stand.runtime), again = one;
    EXPECT_EQ(one.id(), again.id());
    EXPECT_NE(one.id(), two.id());
    EXPECT_NE(one.id(), current_holder(stand.runtime));
    {
      const ActAs first(stand.runtime, one);
      a->lock();
      {
        const ActAs second(stand.runtime, two);
        EXPECT_EQ(current_holder(stand.runtime), two.id());
        EXPECT_FALSE(a->is_held_by_me());
        EXPECT_FALSE(a->try_lock());
        b->lock();
      }
      EXPECT_TRUE(a->is_held_by_me());
      EXPECT_FALSE(b->is_held_by_me());
      const ActAs third(stand.runtime, again);
      a->lock();
      EXPECT_EQ(a->hold_count(), 2);
      a->unlock();
      a->unlock();
    }
    EXPECT_EQ(current_holder(stand.runtime), stand.runtime.task_id());
    const ActAs last(stand.runtime, two);
    b->unlock();
  });
}

// The task's own holds are still its own while and after it acts for somebody.
TEST_P(OwnerTest, ATasksOwnHoldsStayItsOwn) {
  run([](Stand& stand) {
    AnyPeer peer(stand, LockKind::reentrant, {.lease = stand.lease(900ms)});
    const auto mine = peer.obtain("mine");
    mine->lock();
    {
      const ActAs somebody(stand.runtime, Owner(stand.runtime));
      EXPECT_FALSE(mine->is_held_by_me());
      EXPECT_THROW(mine->unlock(), NotOwner);
      peer.witness.wait_for(Kind::renewed, 3);
    }
    EXPECT_TRUE(mine->is_held_by_me());
    mine->unlock();
  });
}

TEST_P(OwnerTest, AcquireAsync) {
  run([](Stand& stand) {
    for (const LockKind kind : testing::every_kind()) {
      AnyPeer a(stand, kind, {.lease = 60s}), b(stand, kind, {.lease = 60s});
      const auto held = a.obtain("k"), lock = b.obtain("k");
      held->lock();
      const Owner order(stand.runtime);
      std::atomic<int> told = 0;
      PendingLock pending =
          acquire_async(lock, order, kNever, {}, [&](bool granted, const std::exception_ptr& failure) {
            EXPECT_TRUE(granted);
            EXPECT_FALSE(failure);
            ++told;
          });
      b.witness.wait_for(Kind::waiting);
      EXPECT_FALSE(pending.ready());
      held->unlock();
      EXPECT_TRUE(pending.wait());
      EXPECT_TRUE(pending.ready());
      EXPECT_TRUE(pending.wait());  // as often as one likes
      EXPECT_FALSE(lock->is_held_by_me());
      {
        const ActAs me(stand.runtime, order);
        EXPECT_TRUE(lock->is_held_by_me());
        lock->unlock();
      }
      const PendingLock copy = pending;
      EXPECT_TRUE(copy.ready());
      while (told == 0) stand.runtime.sleep_for(1ms);
      EXPECT_EQ(told, 1);
    }
  });
}

TEST_P(OwnerTest, AcquireAsyncThatIsNotGranted) {
  run([](Stand& stand) {
    AnyPeer a(stand, LockKind::reentrant, {.lease = 60s}), b(stand, LockKind::reentrant, {.lease = 60s});
    const auto held = a.obtain("k"), lock = b.obtain("k");
    held->lock();
    const Owner order(stand.runtime);
    b.ask({"PING"});  // connected: what follows is the wait alone
    EXPECT_FALSE(acquire_async(lock, order, stand.runtime.now() + 200ms).wait());
    std::stop_source stop;
    const PendingLock stopped = acquire_async(lock, order, kNever, stop.get_token());
    b.witness.wait_for(Kind::waiting, 2);
    stop.request_stop();
    EXPECT_THROW(stopped.wait(), Interrupted);
    EXPECT_THROW(stopped.wait(), Interrupted);
    EXPECT_TRUE(stopped.ready());
    b.ask({"SET", "other", "of another type"});
    std::atomic<bool> told = false;
    const PendingLock rejected = acquire_async(b.obtain("other"), order, kNever, {},
                                               [&](bool granted, const std::exception_ptr& failure) {
                                                 EXPECT_FALSE(granted);
                                                 EXPECT_TRUE(failure);
                                                 told = true;
                                               });
    EXPECT_THROW(rejected.wait(), Rejected);
    while (!told) stand.runtime.sleep_for(1ms);
    held->unlock();
    EXPECT_TRUE(lock->try_lock());  // nothing of it is left
    lock->unlock();
  });
}

// The last copy waits for what it has started.
TEST_P(OwnerTest, ADroppedPendingLockIsWaitedFor) {
  run([](Stand& stand) {
    AnyPeer peer(stand, LockKind::reentrant, {.lease = 60s});
    const auto lock = peer.obtain("k");
    const Owner order(stand.runtime);
    std::atomic<bool> told = false;
    acquire_async(lock, order, kNever, {}, [&](bool, const std::exception_ptr&) {
      stand.runtime.sleep_for(20ms);
      told = true;
    });
    EXPECT_TRUE(told);
    const ActAs me(stand.runtime, order);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

// A pending lock that is kept is no owner: without one nobody renews.
TEST_P(OwnerTest, APendingLockKeepsNoOwnerAlive) {
  run([](Stand& stand) {
    AnyPeer peer(stand, LockKind::reentrant, {.lease = 300ms});
    const auto lock = peer.obtain("k");
    std::optional<Owner> order(stand.runtime);
    const PendingLock pending = acquire_async(lock, *order);
    EXPECT_TRUE(pending.wait());
    order.reset();
    peer.witness.wait_for(Kind::lost);
    EXPECT_LE(peer.witness.count(Kind::renewed), 1u);
  });
}

TEST(OwnerOnThreads, AcquireFuture) {
  testing::on_stand(Where::threads, [](Stand& stand) {
    AnyPeer a(stand, LockKind::reentrant, {.lease = 60s}), b(stand, LockKind::reentrant, {.lease = 60s});
    const auto held = a.obtain("k"), lock = b.obtain("k");
    const Owner order(stand.runtime);
    held->lock();
    b.ask({"PING"});
    EXPECT_FALSE(acquire_future(lock, order, stand.runtime.now() + 200ms).granted.get());
    FutureLock pending = acquire_future(lock, order);
    EXPECT_EQ(pending.granted.wait_for(5ms), std::future_status::timeout);
    held->unlock();
    EXPECT_TRUE(pending.granted.get());
    const ActAs me(stand.runtime, order);
    lock->unlock();
    b.ask({"SET", "other", "of another type"});
    FutureLock rejected = acquire_future(b.obtain("other"), order);
    EXPECT_THROW(rejected.granted.get(), Rejected);
  });
}

}  // namespace
}  // namespace holdfast
