// The fair lock on every pair of ports and Redis (testing/stand.h): layout, order, giving up, re-entry, what
// it costs. When waiters die and wires fail: fair_faults_test.cc.
#include "lib/lock/fair/fair_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <mutex>
#include <regex>

#include "lib/lock/api/guard.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/fair_queue.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::FairQueue;
using testing::Fixture;
using testing::RelayedPeer;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::Peer<FairLocks>;

class FairLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, FairLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(FairLockTest, LayoutByteForByte) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 30s}), b(fixture, {.lease = 30s}), c(fixture, {.lease = 30s});
    FairQueue queue(fixture, "stock:42");
    std::vector<std::string> messages;
    std::atomic<int> listening = 0;
    Mutex mutex(fixture.runtime);
    redis::Client listener(fixture.runtime, fixture.network, fixture.options());
    const auto listen_to = [&](const std::string& owner) {
      return listener.subscribe(
          "holdfast:wake:" + owner.substr(0, owner.find(':')),
          [&](std::string_view payload) {
            const std::scoped_lock guard(mutex);
            messages.emplace_back(payload);
          },
          [&] { ++listening; });
    };

    const auto lock = a.locks.obtain("stock:42");
    lock->lock();
    const std::string first = lock->acquisition();
    const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:[0-9]+");
    EXPECT_TRUE(std::regex_match(first, form)) << first;
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 1);  // no queue, nothing else
    queue.join(b.locks.obtain("stock:42"));
    queue.join(c.locks.obtain("stock:42"));

    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 3);
    EXPECT_EQ(ask(a.client, {"GET", "stock:42"}).text, first);
    const redis::Reply tickets =
        ask(a.client, {"ZRANGE", "holdfast:fair:queue:{stock:42}", "0", "-1", "WITHSCORES"});
    ASSERT_EQ(tickets.items.size(), 4u);
    const std::string second = tickets.items[0].text, third = tickets.items[2].text;
    EXPECT_TRUE(std::regex_match(second, form)) << second;
    EXPECT_TRUE(std::regex_match(third, form)) << third;
    EXPECT_EQ(tickets.items[1].text, "1");
    EXPECT_EQ(tickets.items[3].text, "2");
    const redis::Reply time = ask(a.client, {"TIME"});
    const double now = std::stod(time.items[0].text) * 1000;
    for (const std::string& owner : {second, third}) {
      const std::string score = ask(a.client, {"ZSCORE", "holdfast:fair:patience:{stock:42}", owner}).text;
      EXPECT_EQ(score.find_first_not_of("0123456789"), score.npos) << score;  // whole milliseconds
      EXPECT_NEAR(std::stod(score), now + 40000, 20000);                      // a lease and a third
    }
    EXPECT_EQ(ask(a.client, {"ZCARD", "holdfast:fair:patience:{stock:42}"}).integer, 2);
    for (const auto& [key, most] :
         {std::pair{"stock:42", 30000}, std::pair{"holdfast:fair:queue:{stock:42}", 40000},
          std::pair{"holdfast:fair:patience:{stock:42}", 40000}}) {
      const std::int64_t left = ask(a.client, {"PTTL", key}).integer;
      EXPECT_GT(left, 0) << key;
      EXPECT_LE(left, most) << key;
    }

    const std::string held_until =
        ask(a.client, {"ZSCORE", "holdfast:fair:patience:{stock:42}", second}).text;
    const auto to_second = listen_to(second), to_third = listen_to(third);
    while (listening < 2) fixture.runtime.sleep_for(1ms);
    lock->unlock();
    queue.wait_all_granted();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
    const auto told = [&] {
      const std::scoped_lock guard(mutex);
      return messages.size();
    };
    while (told() < 2) fixture.runtime.sleep_for(1ms);
    EXPECT_EQ(messages[0].substr(0, messages[0].find(' ')), second);
    EXPECT_TRUE(std::regex_match(messages[0], std::regex(".*:[0-9]+ held [0-9]{13}"))) << messages[0];
    EXPECT_GE(messages[0].substr(messages[0].rfind(' ') + 1),
              held_until);  // it may have asked once more since
    EXPECT_EQ(messages[1].substr(0, messages[1].find(' ')), third);
  });
}

TEST_P(FairLockTest, AKeyWithAHashTagKeepsIt) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto lock = a.locks.obtain("stock{7}");
    lock->lock();
    FairQueue queue(fixture, "stock{7}");
    queue.join(b.locks.obtain("stock{7}"));
    EXPECT_EQ(ask(a.client, {"EXISTS", "holdfast:fair:queue::stock{7}", "holdfast:fair:patience::stock{7}"})
                  .integer,
              2);
    lock->unlock();
    queue.wait_all_granted();
  });
}

// The order is that of the server's queue, whatever processes and tasks the waiters are of.
TEST_P(FairLockTest, FirstComeFirstServedOverProcessesAndTasks) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s}), c(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    FairQueue queue(fixture, "k");
    for (Peer* peer : {&b, &c, &c, &a, &b, &b, &a, &c}) queue.join(peer->locks.obtain("k"));
    lock->unlock();
    queue.wait_all_granted();
    EXPECT_EQ(queue.order(), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(FairLockTest, TryLockNeverQueues) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto lock_a = a.locks.obtain("k"), lock_b = b.locks.obtain("k");
    lock_a->lock();
    EXPECT_FALSE(lock_b->try_lock());
    EXPECT_FALSE(lock_b->try_lock_for(0s));
    EXPECT_THROW(static_cast<void>(lock_b->try_lock_for(-1s)), std::invalid_argument);
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 1);
    lock_a->unlock();
    // Free, but somebody else's turn, who is only slow: no overtaking.
    FairQueue::add_ghost(fixture, "k", "ghost:1", 60s);
    EXPECT_FALSE(lock_b->try_lock());
    EXPECT_EQ(ask(a.client, {"ZCARD", "holdfast:fair:queue:{k}"}).integer, 1);
    FairQueue::take_leave(fixture, "k", "ghost:1");
    EXPECT_TRUE(lock_b->try_lock());
    lock_b->unlock();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(FairLockTest, WhoGivesUpLeavesTheQueue) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s}), c(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    FairQueue queue(fixture, "k");
    Task impatient =
        fixture.runtime.spawn("client", [&] { EXPECT_FALSE(b.locks.obtain("k")->try_lock_for(200ms)); });
    queue.wait_length(1);
    std::stop_source stop;
    Task stopped = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(c.locks.obtain("k")->try_lock_until(kNever, stop.get_token())),
                   Interrupted);
    });
    queue.wait_length(2);
    queue.join(b.locks.obtain("k"), 3);
    stop.request_stop();
    stopped.join();
    impatient.join();
    queue.wait_length(1);  // both places are given up, long before their patience ends
    EXPECT_EQ(ask(a.client, {"ZCARD", "holdfast:fair:patience:{k}"}).integer, 1);
    lock->unlock();
    queue.wait_all_granted();
  });
}

// The head is told, and gives up instead of asking: the next one is told then, not after the head's patience.
TEST_P(FairLockTest, WhoGivesUpHandsTheWakeUpOn) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 600s}), b(fixture, {.lease = 600s});
    const MonotonicTime start = fixture.runtime.now();
    const auto lock = a.locks.obtain("k");
    lock->lock();
    FairQueue queue(fixture, "k");
    FairQueue::add_ghost(fixture, "k", "ghost:1", 600s);
    queue.join(b.locks.obtain("k"), 2);
    lock->unlock();
    fixture.runtime.sleep_for(20ms);
    EXPECT_EQ(queue.granted(), 0);
    FairQueue::take_leave(fixture, "k", "ghost:1");
    queue.wait_all_granted();
    EXPECT_LT(fixture.runtime.now() - start, 500s);
  });
}

// The same by a waiter of ours that was cut off when its turn came.
TEST_P(FairLockTest, ATurnThatReachesNobodyIsHandedOn) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 600s}), c(fixture, {.lease = 600s});
    RelayedPeer<FairLocks> b(fixture, {.lease = 600s});
    const MonotonicTime start = fixture.runtime.now();
    const auto lock = a.locks.obtain("k");
    lock->lock();
    FairQueue queue(fixture, "k");
    std::stop_source stop;
    Task cut_off = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(b.peer.locks.obtain("k")->lock_interruptibly(stop.get_token()), Interrupted);
    });
    b.peer.observer.wait_for(Kind::queued, 2);  // the second time: the subscription is in force
    queue.join(c.locks.obtain("k"), 2);
    b.link.stall(true);
    lock->unlock();
    stop.request_stop();
    cut_off.join();
    EXPECT_EQ(queue.granted(), 0);
    b.link.stall(false);
    queue.wait_all_granted();
    EXPECT_LT(fixture.runtime.now() - start, 500s);
  });
}

TEST_P(FairLockTest, ReEntryDoesNotQueue) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    FairQueue queue(fixture, "k");
    queue.join(b.locks.obtain("k"));
    const std::string owner = lock->acquisition();
    lock->lock();
    EXPECT_TRUE(lock->try_lock());
    EXPECT_EQ(lock->hold_count(), 3);
    EXPECT_EQ(lock->acquisition(), owner);
    EXPECT_EQ(ask(a.client, {"GET", "k"}).text, owner);
    lock->unlock();
    lock->unlock();
    EXPECT_EQ(queue.granted(), 0);
    lock->unlock();
    queue.wait_all_granted();
    EXPECT_THROW(lock->release(), NotOwner);
  });
}

TEST_P(FairLockTest, ExcludesTheReentrantLockOfTheKey) {
  run([](Fixture& fixture) {
    Peer fair(fixture, {.lease = 400ms});
    testing::Peer<ReentrantLocks> other(fixture, {.lease = 400ms});
    const auto lock = fair.locks.obtain("k"), reentrant = other.locks.obtain("k");
    lock->lock();
    EXPECT_FALSE(reentrant->try_lock());
    lock->unlock();
    reentrant->lock();
    EXPECT_FALSE(lock->try_lock());
    FairQueue queue(fixture, "k");
    queue.join(lock);
    other.observer.wait_for(Kind::renewed, 2);
    EXPECT_EQ(queue.granted(), 0);
    reentrant->unlock();  // its message goes to others: found out at the end of the lease
    queue.wait_all_granted();
  });
}

TEST_P(FairLockTest, ForceUnlockWakesTheHead) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 600s}), b(fixture, {.lease = 600s}), c(fixture, {.lease = 600s});
    const auto lock = a.locks.obtain("k");
    EXPECT_FALSE(lock->force_unlock());
    lock->lock();
    FairQueue queue(fixture, "k");
    queue.join(b.locks.obtain("k"));
    queue.join(c.locks.obtain("k"));
    EXPECT_TRUE(c.locks.obtain("k")->force_unlock());
    queue.wait_all_granted();
    EXPECT_EQ(queue.order(), (std::vector{0, 1}));
    EXPECT_THROW(lock->release(), LockLost);
  });
}

TEST_P(FairLockTest, MutualExclusionUnderContention) {
  run([](Fixture& fixture) {
    constexpr int kTasks = 3, kRounds = 10;
    std::list<Peer> peers;
    for (int i = 0; i < 3; ++i) peers.emplace_back(fixture, LockOptions{.lease = 60s});
    std::atomic<int> counter = 0;
    {
      std::list<Task> tasks;
      for (Peer& peer : peers) {
        for (int i = 0; i < kTasks; ++i) {
          tasks.push_back(fixture.runtime.spawn("client", [&] {
            const auto lock = peer.locks.obtain("k");
            for (int round = 0; round < kRounds; ++round) {
              Guard guard(*lock);
              const int seen = counter;
              fixture.runtime.yield();
              counter = seen + 1;
              guard.release();
            }
          }));
        }
      }
    }
    EXPECT_EQ(counter, 3 * kTasks * kRounds);
    EXPECT_EQ(ask(peers.front().client, {"DBSIZE"}).integer, 0);
  });
}

// Who waits for a holder that goes on renewing asks once a lease, and the renewals are the holder's.
TEST_P(FairLockTest, AWaiterAsksOnceALease) {
  run([](Fixture& fixture) {
    constexpr Duration kLease = 600ms;
    Peer a(fixture, {.lease = kLease});
    RelayedPeer<FairLocks> b(fixture, {.lease = kLease});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    FairQueue queue(fixture, "k");
    queue.join(b.peer.locks.obtain("k"));
    b.peer.observer.wait_for(Kind::queued, 3);  // asked, asked when subscribed, asked at the lease's end
    b.link.count("EVALSHA");
    const auto renewed_before = a.observer.count(Kind::renewed);
    const MonotonicTime start = fixture.runtime.now();
    a.observer.wait_for(Kind::renewed, 20);
    const int sent = b.link.counted();
    // It asks when the lease that it was told of is over, and by then the holder has renewed.
    EXPECT_LE(sent, static_cast<int>(a.observer.count(Kind::renewed) - renewed_before) + 1);
    EXPECT_GE(sent, 1);
    if (fixture.where == Where::embedded) {  // renewals are in time
      const auto leases = (fixture.runtime.now() - start) / kLease;
      EXPECT_LE(sent, leases + 1);
      EXPECT_GE(sent, leases - 1);  // it keeps its place
    }
    lock->unlock();
    queue.wait_all_granted();
  });
}

// All commands of all waiters, subscriptions included, by the grant: however many wait, none is told in vain.
TEST_P(FairLockTest, CommandsAGrant) {
  run([](Fixture& fixture) {
    constexpr int kWaiters = 30;
    RelayedPeer<FairLocks> b(fixture, {.lease = 60s}), c(fixture, {.lease = 60s});
    for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease}) {
      b.peer.ask({"SCRIPT", "LOAD", script->text});
    }
    Peer a(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    FairQueue queue(fixture, "k");
    b.link.count("*");
    c.link.count("*");
    for (int i = 0; i < kWaiters; ++i) queue.join((i % 2 == 0 ? b : c).peer.locks.obtain("k"));
    // The first of each process asks once more, when the subscription of all is in force.
    b.peer.observer.wait_for(Kind::queued, kWaiters / 2 + 1);
    c.peer.observer.wait_for(Kind::queued, kWaiters / 2 + 1);
    lock->unlock();
    queue.wait_all_granted();
    const int commands = b.link.counted() + c.link.counted();
    EXPECT_LT(commands, 3 * kWaiters);  // one to queue, one to release, and a few for the subscriptions
    EXPECT_GE(commands, 2 * kWaiters);
    EXPECT_EQ(queue.order().size(), static_cast<std::size_t>(kWaiters));
  });
}

}  // namespace
}  // namespace holdfast
