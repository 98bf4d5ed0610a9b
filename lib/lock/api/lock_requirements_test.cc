// The named requirements of the standard library, checked as concepts and used: BasicLockable, Lockable,
// TimedLockable for every lock, SharedTimedLockable for the read-write lock; on threads and on fibers.
#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <list>
#include <mutex>
#include <shared_mutex>

#include "lib/lock/engine/wire_lock.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::ExclusiveKind;
using testing::Fixture;
using testing::Where;

// A clock that is not ours, with units of its own.
struct TestClock {
  using duration = std::chrono::microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<TestClock>;
  [[maybe_unused]] static constexpr bool is_steady = true;
  static inline Runtime* runtime = nullptr;
  static time_point now() {
    return time_point(std::chrono::duration_cast<duration>(runtime->now().time_since_epoch()) + 1000h);
  }
};

template <class L>
concept BasicLockable = requires(L lock) {
  { lock.lock() } -> std::same_as<void>;
  { lock.unlock() } -> std::same_as<void>;
};
template <class L>
concept Lockable = BasicLockable<L> && requires(L lock) {
  { lock.try_lock() } -> std::same_as<bool>;
};
template <class L, class Wait, class Point>
concept TimedLockableBy = requires(L lock, Wait wait, Point point) {
  { lock.try_lock_for(wait) } -> std::same_as<bool>;
  { lock.try_lock_until(point) } -> std::same_as<bool>;
};
template <class L>
concept TimedLockable = Lockable<L> && TimedLockableBy<L, std::chrono::nanoseconds, TestClock::time_point> &&
    TimedLockableBy<L, std::chrono::hours, std::chrono::time_point<TestClock, std::chrono::hours>> &&
    TimedLockableBy<L, std::chrono::duration<double>, MonotonicTime> &&
    TimedLockableBy<L, std::chrono::duration<float, std::milli>,
                    std::chrono::time_point<MonotonicClock, std::chrono::seconds>>;
template <class L>
concept SharedTimedLockable = requires(L lock, std::chrono::seconds wait, TestClock::time_point point,
                                       std::chrono::duration<double> rough) {
  { lock.lock_shared() } -> std::same_as<void>;
  { lock.try_lock_shared() } -> std::same_as<bool>;
  { lock.unlock_shared() } -> std::same_as<void>;
  { lock.try_lock_shared_for(wait) } -> std::same_as<bool>;
  { lock.try_lock_shared_for(rough) } -> std::same_as<bool>;
  { lock.try_lock_shared_until(point) } -> std::same_as<bool>;
};

static_assert(TimedLockable<Lock&>);
static_assert(TimedLockable<WireLock&>);
static_assert(TimedLockable<MultiLock&>);
static_assert(TimedLockable<ReadWriteLock&>);
static_assert(SharedTimedLockable<ReadWriteLock&>);
static_assert(!SharedTimedLockable<Lock&>);

static_assert(to_duration(5s) == Duration(5s));
static_assert(to_duration(std::chrono::hours::max()) == Duration::max());
static_assert(to_duration(std::chrono::hours::min()) == -Duration::max());
static_assert(to_duration(std::chrono::duration<double>(0.25)) == 250ms);
static_assert(to_duration(std::chrono::duration<double, std::nano>(0.5)) == 1ns);  // never shorter

class LockRequirements : public ::testing::TestWithParam<std::tuple<Where, ExclusiveKind>> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) {
    testing::with_fixture(std::get<0>(GetParam()), [&](Fixture& fixture) {
      TestClock::runtime = &fixture.runtime;
      body(fixture);
    });
  }
  static ExclusiveKind kind() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, LockRequirements,
                         ::testing::Combine(::testing::ValuesIn(testing::everywhere()),
                                            ::testing::ValuesIn(testing::every_kind())),
                         [](const auto& info) {
                           return testing::to_string(std::get<0>(info.param)) + "_" +
                                  testing::to_string(std::get<1>(info.param));
                         });

TEST_P(LockRequirements, UniqueLock) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, kind(), {.lease = 60s}), b(fixture, kind(), {.lease = 60s});
    const auto mine = a.obtain("k"), theirs = b.obtain("k");
    {
      std::unique_lock<Lock> hold(*mine);
      EXPECT_TRUE(hold.owns_lock());
      EXPECT_FALSE(std::unique_lock<Lock>(*theirs, std::try_to_lock).owns_lock());
      const MonotonicTime start = fixture.runtime.now();
      EXPECT_FALSE(std::unique_lock<Lock>(*theirs, 250ms).owns_lock());
      EXPECT_FALSE(std::unique_lock<Lock>(*theirs, std::chrono::duration<double>(0.25)).owns_lock());
      EXPECT_FALSE(std::unique_lock<Lock>(*theirs, fixture.runtime.now() + 250ms).owns_lock());
      EXPECT_FALSE(std::unique_lock<Lock>(*theirs, TestClock::now() + 250ms).owns_lock());
      EXPECT_GE(fixture.runtime.now() - start, 1s - 1us);  // the other clock counts whole microseconds
      EXPECT_FALSE(std::unique_lock<Lock>(*theirs, TestClock::now() - 1h).owns_lock());
      EXPECT_THROW(static_cast<void>(theirs->try_lock_for(std::chrono::hours::min())), std::invalid_argument);
      EXPECT_THROW(static_cast<void>(theirs->try_lock_for(std::chrono::duration<double>(-0.1))),
                   std::invalid_argument);
    }
    EXPECT_FALSE(mine->is_held_by_me());
    std::unique_lock<Lock> hold(*theirs, std::defer_lock);
    EXPECT_TRUE(hold.try_lock_for(5s));
    hold.unlock();
    EXPECT_TRUE(hold.try_lock_until(TestClock::now() + 5s));
    hold.unlock();
    EXPECT_TRUE(hold.try_lock_for(std::chrono::hours::max()));  // without end, not an overflow
    hold.unlock();
    hold.lock();
    hold.unlock();
    EXPECT_TRUE(hold.try_lock());
    const std::lock_guard<Lock> adopted(*hold.release(), std::adopt_lock);
    EXPECT_TRUE(theirs->is_held_by_me());
  });
}

// One task takes both locks at once while others take one of them. (Two std::lock() over the same locks may
// go round in step without end, lock.h: MultiLock is for that.)
TEST_P(LockRequirements, ScopedLockAndStdLock) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, kind(), {.lease = 60s}), b(fixture, kind(), {.lease = 60s});
    int counter = 0;
    {
      std::list<Task> tasks;
      tasks.push_back(fixture.runtime.spawn("client", [&] {
        const auto x = a.obtain("x"), y = a.obtain("y");
        for (int round = 0; round < 3; ++round) {
          const std::scoped_lock both(*x, *y);
          const int before = counter;
          fixture.runtime.yield();
          counter = before + 1;
          EXPECT_TRUE(x->is_held_by_me() && y->is_held_by_me());
        }
      }));
      for (AnyPeer* peer : {&a, &b, &b}) {
        tasks.push_back(fixture.runtime.spawn("client", [&, peer] {
          const auto x = peer->obtain("x");
          for (int round = 0; round < 3; ++round) {
            const std::scoped_lock one(*x);
            const int before = counter;
            fixture.runtime.yield();
            counter = before + 1;
          }
        }));
      }
    }
    EXPECT_EQ(counter, 12);
    const auto x = a.obtain("x"), y = a.obtain("y"), z = b.obtain("z");
    std::unique_lock<Lock> one(*x, std::defer_lock), two(*y, std::defer_lock), three(*z, std::defer_lock);
    std::lock(one, two, three);
    EXPECT_TRUE(x->is_held_by_me() && y->is_held_by_me() && z->is_held_by_me());
    one.unlock();
    two.unlock();
    three.unlock();
    EXPECT_EQ(std::try_lock(*x, *y, *z), -1);
    x->unlock();
    y->unlock();
    z->unlock();
  });
}

// A loss, and a server that is gone, end no program: what the standard's guards call throws neither.
TEST_P(LockRequirements, TheGuardsOfTheStandardOutliveALoss) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 60s});
    const auto lock = peer.obtain("k"), other = peer.obtain("other");
    {
      const std::scoped_lock one(*lock);
      peer.ask({"FLUSHALL"});
    }
    EXPECT_FALSE(lock->is_held_by_me());
    {
      const std::scoped_lock both(*lock, *other);
      peer.ask({"FLUSHALL"});
    }
    {
      const std::lock_guard<Lock> plain(*lock);
      peer.ask({"FLUSHALL"});
    }
    std::unique_lock<Lock> movable(*lock);
    peer.ask({"FLUSHALL"});
    EXPECT_NO_THROW(movable.unlock());
    EXPECT_EQ(peer.observer.count(LockEvent::Kind::lost), 5u);
    EXPECT_EQ(peer.observer.count(LockEvent::Kind::released), 0u);
    EXPECT_THROW(lock->unlock(), NotOwner);
    lock->lock();
    peer.ask({"FLUSHALL"});
    EXPECT_THROW(lock->release(), LockLost);
  });
}

TEST_P(LockRequirements, TheGuardsOfTheStandardOutliveTheServer) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    AnyPeer peer(fixture, kind(), {.lease = 600s}, link.endpoint());
    const auto lock = peer.obtain("k");
    {
      const std::scoped_lock one(*lock);
      link.lose_reply_to("", 1'000'000);
    }
    EXPECT_EQ(peer.observer.count(LockEvent::Kind::release_failed), 1u);
    EXPECT_EQ(peer.observer.count(LockEvent::Kind::lost), 0u);
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_EQ(lock->hold_count(), 0);
  });
}

class SharedLockRequirements : public ::testing::TestWithParam<Where> {};
INSTANTIATE_TEST_SUITE_P(Ports, SharedLockRequirements, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(SharedLockRequirements, SharedLock) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    TestClock::runtime = &fixture.runtime;
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    redis::Client another(fixture.runtime, fixture.network, fixture.options());
    ReadWriteLocks locks(client, {.lock = {.lease = 60s}}), others(another, {.lock = {.lease = 60s}});
    const auto mine = locks.obtain("k"), theirs = others.obtain("k");
    {
      const std::shared_lock<ReadWriteLock> reader(*mine), neighbour(*theirs);
      EXPECT_FALSE(std::unique_lock<ReadWriteLock>(*others.obtain("k"), std::defer_lock).owns_lock());
    }
    {
      std::unique_lock<ReadWriteLock> writer(*mine, 5s);
      EXPECT_TRUE(writer.owns_lock());
      EXPECT_FALSE(std::shared_lock<ReadWriteLock>(*theirs, std::try_to_lock).owns_lock());
      EXPECT_FALSE(std::shared_lock<ReadWriteLock>(*theirs, 250ms).owns_lock());
      EXPECT_FALSE(std::shared_lock<ReadWriteLock>(*theirs, TestClock::now() + 250ms).owns_lock());
      EXPECT_FALSE(std::shared_lock<ReadWriteLock>(*theirs, fixture.runtime.now() + 250ms).owns_lock());
    }
    {
      const std::shared_lock<ReadWriteLock> lost(*mine);
      testing::ask(client, {"FLUSHALL"});
    }
    mine->lock_shared();
    testing::ask(client, {"FLUSHALL"});
    EXPECT_THROW(mine->release_shared(), LockLost);
    EXPECT_THROW(mine->unlock_shared(), NotOwner);
    std::shared_lock<ReadWriteLock> reader(*theirs, TestClock::now() + 5s);
    EXPECT_TRUE(reader.owns_lock());
    EXPECT_FALSE(std::unique_lock<ReadWriteLock>(*mine, TestClock::now() + 250ms).owns_lock());
  });
}

// A writer that also reads gives the write side back, or out of its hands, and that fails. The guard of its
// reading ends later.
TEST_P(SharedLockRequirements, TheGuardOfAReadingWriterOutlivesALoss) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    ReadWriteLocks locks(client, {.lock = {.lease = 60s}});
    const auto lock = locks.obtain("k");
    for (const bool noticed : {false, true}) {
      std::unique_lock<ReadWriteLock> writer(*lock);
      const std::shared_lock<ReadWriteLock> reader(*lock), again(*lock);
      testing::ask(client, {"FLUSHALL"});
      if (noticed) {
        EXPECT_THROW(lock->extend(60s), LockLost);
      }
      writer.unlock();
      EXPECT_FALSE(lock->read().is_held_by_me());
      EXPECT_THROW(lock->lock_shared(), LockLost) << "it has to be given back before";
    }
    {
      lock->lock();
      const std::shared_lock<ReadWriteLock> reader(*lock);
      testing::ask(client, {"FLUSHALL"});
      EXPECT_THROW(lock->downgrade(), LockLost);
    }
    {
      lock->lock();
      const std::shared_lock<ReadWriteLock> reader(*lock);
      testing::ask(client, {"FLUSHALL"});
      EXPECT_THROW(lock->extend(60s), LockLost);
      EXPECT_THROW(static_cast<void>(lock->detach()), LockLost);
    }
    EXPECT_EQ(lock->hold_count() + lock->read().hold_count(), 0);
    lock->lock_shared();
    lock->release_shared();
  });
}

TEST_P(SharedLockRequirements, TheGuardOfAReadingWriterOutlivesTheServer) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    redis::Client client(fixture.runtime, fixture.network, fixture.options(link.endpoint()));
    ReadWriteLocks locks(client, {.lock = {.lease = 600s}});
    const auto lock = locks.obtain("k");
    {
      std::unique_lock<ReadWriteLock> writer(*lock);
      const std::shared_lock<ReadWriteLock> reader(*lock);
      link.lose_reply_to("", 1'000'000);
      writer.unlock();
      EXPECT_FALSE(lock->read().is_held_by_me());
    }
    EXPECT_EQ(lock->hold_count() + lock->read().hold_count(), 0);
  });
}

}  // namespace
}  // namespace holdfast
