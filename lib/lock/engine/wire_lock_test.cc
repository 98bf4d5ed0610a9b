// What every exclusive kind on one Redis promises (wire_lock.h, lock.h), each kind on each pair of ports:
// bounded renewals, forced release, what can be asked about a hold, bad options, what waiting costs.
#include "lib/lock/engine/wire_lock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <list>

#include "lib/lock/engine/lease.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::ExclusiveKind;
using testing::FaultyLink;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;

class WireLockTest : public ::testing::TestWithParam<std::tuple<Where, ExclusiveKind>> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(where(), body); }
  static Where where() { return std::get<0>(GetParam()); }
  static ExclusiveKind kind() { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, WireLockTest,
                         ::testing::Combine(::testing::ValuesIn(testing::everywhere()),
                                            ::testing::ValuesIn(testing::every_kind())),
                         [](const auto& info) {
                           return testing::to_string(std::get<0>(info.param)) + "_" +
                                  testing::to_string(std::get<1>(info.param));
                         });

// Long enough for a busy machine where time is real.
Duration some_lease(const Fixture& fixture) { return fixture.where == Where::embedded ? 300ms : 900ms; }

TEST_P(WireLockTest, MaxRenewals) {
  if (where() != Where::embedded && kind() != ExclusiveKind::reentrant) return;  // it takes long
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = some_lease(fixture), .max_renewals = 2});
    const auto lock = peer.obtain("k");
    lock->lock();
    const std::stop_token lost = lock->lost();
    peer.observer.wait_for(Kind::lost);
    EXPECT_EQ(peer.observer.count(Kind::renewed), 2u);
    EXPECT_GE(peer.observer.last(Kind::lost), *lock->valid_until());
    while (!lost.stop_requested()) fixture.runtime.yield();
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_THROW(lock->release(), LockLost);
    lock->lock();  // each hold has its own count
    peer.observer.wait_for(Kind::renewed, 4);
    lock->unlock();
  });
}

TEST_P(WireLockTest, MaxRenewalsOfNone) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 150ms, .max_renewals = 0});
    const auto lock = peer.obtain("k");
    lock->lock();
    peer.observer.wait_for(Kind::lost);
    EXPECT_EQ(peer.observer.count(Kind::renewing), 0u);
    EXPECT_THROW(lock->release(), LockLost);
  });
}

TEST_P(WireLockTest, ForceUnlock) {
  run([](Fixture& fixture) {
    AnyPeer holder(fixture, kind(), {.lease = some_lease(fixture)}), other(fixture, kind(), {.lease = 600s}),
        waiting(fixture, kind(), {.lease = 600s});
    const auto lock = holder.obtain("k"), forced = other.obtain("k"), next = waiting.obtain("k");
    EXPECT_FALSE(forced->force_unlock());
    lock->lock();
    Task waiter = fixture.runtime.spawn("client", [&] {
      next->lock();
      next->unlock();
    });
    waiting.observer.wait_for(Kind::waiting);
    EXPECT_TRUE(forced->force_unlock());
    waiter.join();
    holder.observer.wait_for(Kind::lost);  // at its next renewal
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_FALSE(forced->force_unlock());
    EXPECT_EQ(other.ask({"DBSIZE"}).integer, kind() == ExclusiveKind::fenced ? 1 : 0);
    EXPECT_THROW(forced->release(), NotOwner);
  });
}

TEST_P(WireLockTest, ForceUnlockRemovesNothingButLocks) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 60s});
    peer.ask({"SET", "k", "the payroll"});
    EXPECT_THROW(peer.obtain("k")->force_unlock(), Rejected);
    EXPECT_EQ(peer.ask({"GET", "k"}).text, "the payroll");
  });
}

TEST_P(WireLockTest, InUse) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, kind(), {.lease = 60s}), b(fixture, kind(), {.lease = 60s});
    const auto lock = a.obtain("k"), other = b.obtain("k");
    EXPECT_FALSE(lock->in_use());
    lock->lock();
    EXPECT_TRUE(lock->in_use());
    EXPECT_FALSE(other->in_use());
    Task waiter = fixture.runtime.spawn("client", [&] {
      other->lock();
      other->unlock();
    });
    b.observer.wait_for(Kind::waiting);
    EXPECT_TRUE(other->in_use());  // somebody waits for it
    lock->unlock();
    EXPECT_FALSE(lock->in_use());
    waiter.join();
    EXPECT_FALSE(other->in_use());
  });
}

TEST_P(WireLockTest, ALostHoldIsNotInUse) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 100ms, .renew = false});
    const auto lock = peer.obtain("k");
    Task careless = fixture.runtime.spawn("client", [&] { lock->lock(); });
    careless.join();
    EXPECT_TRUE(lock->in_use());
    peer.observer.wait_for(Kind::lost);
    EXPECT_FALSE(lock->in_use());
  });
}

TEST_P(WireLockTest, RemainingLease) {
  run([](Fixture& fixture) {
    AnyPeer peer(fixture, kind(), {.lease = 400ms, .renew = false});
    const auto lock = peer.obtain("k");
    EXPECT_EQ(lock->remaining_lease(), std::nullopt);
    lock->lock();
    const Duration first = *lock->remaining_lease();
    EXPECT_GE(first, fixture.where == Where::embedded ? 1ms : 0s);  // a busy machine may eat the lease
    EXPECT_LE(first, 400ms - lease_margin(400ms));
    fixture.runtime.sleep_for(50ms);
    EXPECT_LE(*lock->remaining_lease(), std::max<Duration>(first - 50ms, 0s));
    Task other = fixture.runtime.spawn("client", [&] { EXPECT_EQ(lock->remaining_lease(), std::nullopt); });
    other.join();
    fixture.runtime.sleep_for(400ms);
    EXPECT_EQ(lock->remaining_lease(), Duration::zero());  // over, not below
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_EQ(lock->remaining_lease(), std::nullopt);
  });
}

TEST_P(WireLockTest, BadOptionsAreToldAtOnce) {
  run([](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    const auto refused = [&](const LockOptions& options) {
      EXPECT_THROW(testing::make_locks(kind(), client, options), std::invalid_argument);
    };
    refused({.lease = 0s});
    refused({.lease = -1s});
    refused({.lease = 9ms});
    refused({.lease = 1s + 1ns});
    refused({.lease = std::chrono::hours(24 * 366)});  // no lease: a mistake, and an overflow one day
    refused({.max_renewals = -1});
    refused({.replicas = -1});
    refused({.replicas = 1, .replica_timeout = 0s});
    refused({.max_waiters = 0});
    const auto locks = testing::make_locks(kind(), client, {.lease = 10ms});
    EXPECT_THROW(static_cast<void>(locks->obtain("")), std::invalid_argument);
    EXPECT_THROW(static_cast<void>(locks->obtain(std::string(65537, 'k'))), std::invalid_argument);
    const auto longest = locks->obtain(std::string(65536, 'k'));
    EXPECT_TRUE(longest->try_lock());
    longest->unlock();
  });
}

TEST_P(WireLockTest, TooManyWaiters) {
  run([](Fixture& fixture) {
    AnyPeer a(fixture, kind(), {.lease = 60s}), b(fixture, kind(), {.lease = 60s, .max_waiters = 2});
    const auto held = a.obtain("k"), lock = b.obtain("k");
    held->lock();
    std::atomic<int> refused = 0;
    std::list<Task> waiters;
    for (int i = 0; i < 6; ++i) {
      waiters.push_back(fixture.runtime.spawn("client", [&] {
        try {
          lock->lock();
          lock->unlock();
        } catch (const Unavailable& error) {
          EXPECT_FALSE(error.may_have_executed());
          ++refused;
        }
      }));
    }
    // Two may queue; where they queue locally, one more asks the server.
    while (refused < (kind() == ExclusiveKind::fair ? 4 : 3)) fixture.runtime.sleep_for(1ms);
    held->unlock();
    waiters.clear();
    EXPECT_EQ(refused, kind() == ExclusiveKind::fair ? 4 : 3);
  });
}

// While the holder goes on renewing, a waiter asks once a lease (the spin lock asks by the clock).
TEST_P(WireLockTest, AWaiterAsksOnceALease) {
  if (kind() == ExclusiveKind::spin) return;
  if (where() != Where::embedded && kind() != ExclusiveKind::reentrant) return;  // it takes long
  run([](Fixture& fixture) {
    constexpr Duration kLease = 900ms;
    AnyPeer a(fixture, kind(), {.lease = kLease});
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    AnyPeer b(fixture, kind(), {.lease = kLease}, link.endpoint());
    const auto held = a.obtain("k"), lock = b.obtain("k");
    held->lock();
    Task waiter = fixture.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    b.observer.wait_for(Kind::waiting);
    a.observer.wait_for(Kind::renewed, 6);
    link.count("EVALSHA");
    const MonotonicTime start = fixture.runtime.now();
    a.observer.wait_for(Kind::renewed, 15);
    // It asks when the lease that it was told of is over, and by then the holder has renewed.
    const auto renewed = static_cast<int>(a.observer.count(Kind::renewed)) - 6;
    EXPECT_LE(link.counted(), renewed + 1);
    if (where() == Where::embedded) {
      EXPECT_LE(link.counted(), (fixture.runtime.now() - start) / kLease + 1);
    }
    held->unlock();
    waiter.join();
  });
}

// The same by the watch of virtual time, whatever the moment at which the waiter came.
TEST(WireLockInVirtualTime, AWaiterAsksOnceALeaseWheneverItCame) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const ExclusiveKind kind : {ExclusiveKind::reentrant, ExclusiveKind::fair}) {
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
      constexpr Duration kLease = 900ms;
      for (int phase = 0; phase < 30; ++phase) {
        const std::string key = "k" + std::to_string(phase);
        AnyPeer a(fixture, kind, {.lease = kLease});
        FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
        AnyPeer b(fixture, kind, {.lease = kLease}, link.endpoint());
        const auto held = a.obtain(key), lock = b.obtain(key);
        held->lock();
        fixture.runtime.sleep_for(phase * 10ms);
        Task waiter = fixture.runtime.spawn("client", [&] {
          lock->lock();
          lock->unlock();
        });
        b.observer.wait_for(Kind::waiting);
        fixture.runtime.sleep_for(kLease + 50ms);
        link.count("EVALSHA");
        fixture.runtime.sleep_for(10 * kLease);
        EXPECT_LE(link.counted(), 10) << testing::to_string(kind) << " " << phase;
        EXPECT_GE(link.counted(), 9);
        held->unlock();
        waiter.join();
      }
    });
  }
}

// The holder died: the waiter comes right after the end of its lease.
TEST(WireLockInVirtualTime, AWaiterComesAtTheEndOfTheLease) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const ExclusiveKind kind : testing::every_kind()) {
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
      AnyPeer a(fixture, kind, {.lease = 3s}), b(fixture, kind, {.lease = 3s});
      const auto held = a.obtain("k");
      Task holder = fixture.runtime.spawn("client", [&] { held->lock(); });
      holder.join();  // without a release: not renewed
      const std::int64_t left = b.ask({"PTTL", "k"}).integer;
      const MonotonicTime start = fixture.runtime.now();
      const auto lock = b.obtain("k");
      lock->lock();
      EXPECT_LE(fixture.runtime.now() - start, std::chrono::milliseconds(left) + 130ms)
          << testing::to_string(kind);
      lock->unlock();
    });
  }
}

}  // namespace
}  // namespace holdfast
