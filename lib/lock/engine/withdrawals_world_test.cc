// How soon a lock is handed on when very many waiters give up, and after the server was a replica for a
// moment: in virtual time, where a test can say how long something takes.
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <memory>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/fair_queue.h"
#include "lib/testing/peer.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::FairQueue;
using testing::Fixture;
using testing::Sign;
using testing::Where;
using FairPeer = testing::Peer<FairLocks>;

// A crowd of waiters that give up at once, and one behind them.
struct Crowd {
  Crowd(Fixture& stand, int many) : fixture(stand), queue(stand, "k") {
    crowd.peer.ask({"PING"});
    const MonotonicTime before = runtime.now();
    holder.ask({"PING"});
    round_trip = runtime.now() - before;
    testing::load(holder.client, {&kReentrantAcquire, &kReentrantRelease, &kReentrantWithdraw});
    held->lock();
    for (int i = 0; i < many; ++i) {
      tasks.push_back(runtime.spawn("client", [this] { EXPECT_FALSE(lock->try_lock_until(end)); }));
    }
    queue.wait_length(many);
    tasks.push_back(runtime.spawn("next", [this] {
      last->lock();
      granted = runtime.now();
      last->unlock();
    }));
    queue.wait_length(many + 1);
    runtime.sleep_until(end);
  }
  // In round trips, from the moment at which all give up and the holder releases.
  double next_comes_after() {
    held->unlock();
    tasks.clear();
    return static_cast<double>((granted - end).count()) / static_cast<double>(round_trip.count());
  }

  Fixture& fixture;
  Runtime& runtime = fixture.runtime;
  FairPeer holder{fixture, {.lease = 60s}}, next{fixture, {.lease = 60s}};
  testing::RelayedPeer<FairLocks> crowd{fixture, {.lease = 60s}};
  const std::shared_ptr<Lock> held = holder.locks.obtain("k"), lock = crowd.peer.locks.obtain("k"),
                              last = next.locks.obtain("k");
  FairQueue queue;
  const MonotonicTime end = runtime.now() + 20s;
  MonotonicTime granted{};
  Duration round_trip{};
  std::list<Task> tasks;  // last: they end before the rest goes away
};

TEST(Withdrawals, OfManyWaitersCostTheNextOneTwoRoundTrips) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Crowd crowd(fixture, 200);
    EXPECT_LE(crowd.next_comes_after(), 2.5);
  });
}

// More than the client may send at once is to be given back: it goes in parts, long before the leases end.
TEST(Withdrawals, OfMoreThanTheClientMaySendAtOnce) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::Client straight(fixture.runtime, fixture.network, fixture.options());
    for (const std::size_t max_pending : {1u, 2u, 5u, 30u}) {
      redis::ClientOptions options = fixture.options();
      options.max_pending = max_pending;
      redis::Client client(fixture.runtime, fixture.network, options);
      ReentrantLocks locks(client, {.lease = 3600s});
      std::list<std::shared_ptr<Lock>> held;
      for (int i = 0; i < 31; ++i) {
        held.push_back(locks.obtain("k" + std::to_string(i)));
        held.back()->lock();
      }
      held.clear();
      const auto left = [&] { return testing::ask(straight, {"DBSIZE"}).integer; };
      for (const MonotonicTime end = fixture.runtime.now() + 5s; fixture.runtime.now() < end && left() > 0;) {
        fixture.runtime.sleep_for(1ms);
      }
      EXPECT_EQ(left(), 0) << max_pending;
      straight.call({"FLUSHALL"});
    }
  });
}

TEST(Withdrawals, OfVeryManyWaitersCostTheNextOneTwoRoundTrips) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Crowd crowd(fixture, 2000);
    EXPECT_LE(crowd.next_comes_after(), 2.5);
  });
}

TEST(Withdrawals, ThatAreLostAreMadeGoodInOneRequest) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Crowd crowd(fixture, 2000);
    crowd.crowd.link.lose_request_with(std::string(kReentrantRelease.sha1));
    crowd.crowd.link.count(std::string(kReentrantWithdraw.sha1));
    EXPECT_LE(crowd.next_comes_after(), 60.0);
    EXPECT_EQ(crowd.crowd.link.to_lose(), 0);
    EXPECT_EQ(crowd.crowd.link.counted(), 1);
  });
}

// More than a list with an end would take.
TEST(Withdrawals, NoneIsForgotten) {
  constexpr int kMany = 6000;
  testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
    Runtime& runtime = fixture.runtime;
    FairPeer holder(fixture, {.lease = 60s}), crowd(fixture, {.lease = 60s});
    const auto held = holder.locks.obtain("k"), lock = crowd.locks.obtain("k");
    held->lock();
    FairQueue queue(fixture, "k");
    std::list<Task> tasks;
    const MonotonicTime end = runtime.now() + 20s;
    for (int i = 0; i < kMany; ++i) {
      tasks.push_back(runtime.spawn("client", [&] { EXPECT_FALSE(lock->try_lock_until(end)); }));
    }
    queue.wait_length(kMany);
    holder.ask({"SCRIPT", "FLUSH"});  // and the server has forgotten how
    tasks.clear();
    queue.wait_length(0);
    EXPECT_LT(runtime.now() - end, 100ms);
    held->unlock();
  });
}

// 16 processes that give up quickly, while their only server is a replica for 0.4 s.
TEST(Withdrawals, ThroughputIsBackSoonAfterTheServerWasAReplica) {
  testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
    Runtime& runtime = fixture.runtime;
    std::atomic<int> grants = 0;
    std::atomic<bool> over = false;
    std::list<testing::Peer<ReentrantLocks>> peers;
    std::list<Task> tasks;
    for (int i = 0; i < 16; ++i) {
      auto& peer = peers.emplace_back(fixture, LockOptions{.lease = 10s});
      tasks.push_back(runtime.spawn("client", [&, lock = peer.locks.obtain("k")] {
        while (!over) {
          try {
            if (lock->try_lock_for(20ms)) {
              ++grants;
              runtime.sleep_for(1ms);
              lock->unlock();
            }
          } catch (const LockError&) {
            runtime.sleep_for(1ms);
          }
        }
      }));
    }
    redis::Client admin(runtime, fixture.network, fixture.options());
    const auto grants_in = [&](Duration time) {
      const int before = grants;
      runtime.sleep_for(time);
      return grants - before;
    };
    runtime.sleep_for(100ms);
    const int usual = grants_in(250ms);
    EXPECT_GT(usual, 50);
    admin.call({"REPLICAOF", "127.0.0.1", "1"});
    runtime.sleep_for(400ms);
    admin.call({"REPLICAOF", "NO", "ONE"});
    runtime.sleep_for(200ms);
    EXPECT_GT(grants_in(250ms), usual * 3 / 4) << "of " << usual;
    over = true;
    tasks.clear();
  });
}

}  // namespace
}  // namespace holdfast
