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
using testing::ExclusiveKind;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;

class OwnerTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, OwnerTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(OwnerTest, AcquiredOnOneTaskReleasedOnAnother) {
  run([](Fixture& fixture) {
    for (const ExclusiveKind kind : testing::every_kind()) {
      AnyPeer peer(fixture, kind, {.lease = 60s});
      const auto lock = peer.obtain("k");
      const Owner order(fixture.runtime);
      Task first = fixture.runtime.spawn("client", [&] {
        const ActAs me(fixture.runtime, order);
        lock->lock();
      });
      first.join();
      EXPECT_FALSE(lock->is_held_by_me());
      EXPECT_THROW(lock->release(), NotOwner);
      Task second = fixture.runtime.spawn("client", [&] {
        EXPECT_FALSE(lock->try_lock());
        const ActAs me(fixture.runtime, order);
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
  run([](Fixture& fixture) {
    const Duration lease = fixture.lease(300ms);
    std::vector<ExclusiveKind> kinds = testing::every_kind();
    if (fixture.where != Where::embedded) kinds = {ExclusiveKind::reentrant};
    for (const ExclusiveKind kind : kinds) {
      AnyPeer peer(fixture, kind, {.lease = lease});
      const auto lock = peer.obtain("k");
      auto order = std::make_unique<Owner>(fixture.runtime);
      Task task = fixture.runtime.spawn("client", [&] {
        const ActAs me(fixture.runtime, *order);
        lock->lock();
      });
      task.join();
      peer.observer.wait_for(Kind::renewed, 4);
      const std::size_t renewed = peer.observer.count(Kind::renewed);
      order.reset();  // nobody is left who could release it
      peer.observer.wait_for(Kind::lost);
      EXPECT_LE(peer.observer.count(Kind::renewed), renewed + 2);  // one under way, one told late
      EXPECT_TRUE(lock->try_lock_for(60s));
      lock->unlock();
    }
  });
}

TEST_P(OwnerTest, CopiesAreTheSameAndScopesNest) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, ExclusiveKind::reentrant, {.lease = 60s});
    const auto a = peer.obtain("a"), b = peer.obtain("b");
    const Owner one(fixture.runtime), two(fixture.runtime), again = one;
    EXPECT_EQ(one.id(), again.id());
    EXPECT_NE(one.id(), two.id());
    EXPECT_NE(one.id(), current_holder(fixture.runtime));
    {
      const ActAs first(fixture.runtime, one);
      a->lock();
      {
        const ActAs second(fixture.runtime, two);
        EXPECT_EQ(current_holder(fixture.runtime), two.id());
        EXPECT_FALSE(a->is_held_by_me());
        EXPECT_FALSE(a->try_lock());
        b->lock();
      }
      EXPECT_TRUE(a->is_held_by_me());
      EXPECT_FALSE(b->is_held_by_me());
      const ActAs third(fixture.runtime, again);
      a->lock();
      EXPECT_EQ(a->hold_count(), 2);
      a->unlock();
      a->unlock();
    }
    EXPECT_EQ(current_holder(fixture.runtime), fixture.runtime.task_id());
    const ActAs last(fixture.runtime, two);
    b->unlock();
  });
}

// The task's own holds are still its own while and after it acts for somebody.
TEST_P(OwnerTest, ATasksOwnHoldsStayItsOwn) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, ExclusiveKind::reentrant, {.lease = fixture.lease(900ms)});
    const auto mine = peer.obtain("mine");
    mine->lock();
    {
      const ActAs somebody(fixture.runtime, Owner(fixture.runtime));
      EXPECT_FALSE(mine->is_held_by_me());
      EXPECT_THROW(mine->release(), NotOwner);
      peer.observer.wait_for(Kind::renewed, 3);
    }
    EXPECT_TRUE(mine->is_held_by_me());
    mine->unlock();
  });
}

TEST_P(OwnerTest, AcquireAsync) {
  run([](Fixture& fixture) {
    for (const ExclusiveKind kind : testing::every_kind()) {
      AnyPeer a(fixture, kind, {.lease = 60s}), b(fixture, kind, {.lease = 60s});
      const auto held = a.obtain("k"), lock = b.obtain("k");
      held->lock();
      const Owner order(fixture.runtime);
      std::atomic<int> told = 0;
      PendingLock pending =
          acquire_async(lock, order, kNever, {}, [&](bool granted, const std::exception_ptr& failure) {
            EXPECT_TRUE(granted);
            EXPECT_FALSE(failure);
            ++told;
          });
      b.observer.wait_for(Kind::waiting);
      EXPECT_FALSE(pending.ready());
      held->unlock();
      EXPECT_TRUE(pending.wait());
      EXPECT_TRUE(pending.ready());
      EXPECT_TRUE(pending.wait());  // as often as one likes
      EXPECT_FALSE(lock->is_held_by_me());
      {
        const ActAs me(fixture.runtime, order);
        EXPECT_TRUE(lock->is_held_by_me());
        lock->unlock();
      }
      const PendingLock copy = pending;
      EXPECT_TRUE(copy.ready());
      while (told == 0) fixture.runtime.sleep_for(1ms);
      EXPECT_EQ(told, 1);
    }
  });
}

TEST_P(OwnerTest, AcquireAsyncThatIsNotGranted) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, ExclusiveKind::reentrant, {.lease = 60s}),
        b(fixture, ExclusiveKind::reentrant, {.lease = 60s});
    const auto held = a.obtain("k"), lock = b.obtain("k");
    held->lock();
    const Owner order(fixture.runtime);
    b.ask({"PING"});  // connected: what follows is the wait alone
    EXPECT_FALSE(acquire_async(lock, order, fixture.runtime.now() + 200ms).wait());
    const std::size_t waited = b.observer.count(Kind::waiting);
    std::stop_source stop;
    const PendingLock stopped = acquire_async(lock, order, kNever, stop.get_token());
    b.observer.wait_for(Kind::waiting, waited + 1);
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(stopped.wait()), Interrupted);
    EXPECT_THROW(static_cast<void>(stopped.wait()), Interrupted);
    EXPECT_TRUE(stopped.ready());
    b.ask({"SET", "other", "of another type"});
    std::atomic<bool> told = false;
    const PendingLock rejected = acquire_async(b.obtain("other"), order, kNever, {},
                                               [&](bool granted, const std::exception_ptr& failure) {
                                                 EXPECT_FALSE(granted);
                                                 EXPECT_TRUE(failure);
                                                 told = true;
                                               });
    EXPECT_THROW(static_cast<void>(rejected.wait()), Rejected);
    while (!told) fixture.runtime.sleep_for(1ms);
    held->unlock();
    EXPECT_TRUE(lock->try_lock());  // nothing of it is left
    lock->unlock();
  });
}

// The last copy stops what it has started, and waits for its end: not for the lock.
TEST_P(OwnerTest, ADroppedPendingLockIsStopped) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, ExclusiveKind::reentrant, {.lease = 60s}),
        b(fixture, ExclusiveKind::reentrant, {.lease = 60s});
    const auto held = a.obtain("k"), lock = b.obtain("k");
    held->lock();
    const Owner order(fixture.runtime);
    std::atomic<bool> told = false;
    {
      const PendingLock pending =
          acquire_async(lock, order, kNever, {}, [&](bool granted, const std::exception_ptr& failure) {
            EXPECT_FALSE(granted);
            EXPECT_THROW(std::rethrow_exception(failure), Interrupted);
            fixture.runtime.sleep_for(20ms);
            told = true;
          });
      b.observer.wait_for(Kind::waiting);
      const PendingLock copy = pending;
    }
    EXPECT_TRUE(told);
    held->unlock();
    while (b.ask({"EXISTS", "k"}).integer != 0) fixture.runtime.sleep_for(1ms);
    const PendingLock granted = acquire_async(lock, order);
    EXPECT_TRUE(granted.wait());
    { const PendingLock gone = granted; }
    const ActAs me(fixture.runtime, order);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

// A pending lock that is kept is no owner: without one nobody renews.
TEST_P(OwnerTest, APendingLockKeepsNoOwnerAlive) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, ExclusiveKind::reentrant, {.lease = 300ms});
    const auto lock = peer.obtain("k");
    std::optional<Owner> order(fixture.runtime);
    const PendingLock pending = acquire_async(lock, *order);
    EXPECT_TRUE(pending.wait());
    order.reset();
    peer.observer.wait_for(Kind::lost);
    EXPECT_LE(peer.observer.count(Kind::renewed), 1u);
  });
}

TEST(OwnerOnThreads, AcquireFuture) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    AnyPeer a(fixture, ExclusiveKind::reentrant, {.lease = 60s}),
        b(fixture, ExclusiveKind::reentrant, {.lease = 60s});
    const auto held = a.obtain("k"), lock = b.obtain("k");
    const Owner order(fixture.runtime);
    held->lock();
    b.ask({"PING"});
    EXPECT_FALSE(acquire_future(lock, order, fixture.runtime.now() + 200ms).granted.get());
    FutureLock pending = acquire_future(lock, order);
    EXPECT_EQ(pending.granted.wait_for(5ms), std::future_status::timeout);
    held->unlock();
    EXPECT_TRUE(pending.granted.get());
    const ActAs me(fixture.runtime, order);
    lock->unlock();
    b.ask({"SET", "other", "of another type"});
    FutureLock rejected = acquire_future(b.obtain("other"), order);
    EXPECT_THROW(rejected.granted.get(), Rejected);
  });
}

}  // namespace
}  // namespace holdfast
