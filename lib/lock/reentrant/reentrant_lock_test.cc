// The reentrant lock on every pair of ports and Redis (testing/stand.h): layout, re-entry, errors, waiting.
// Lost replies and the watchdog: reentrant_faults_test.cc.
#include "lib/lock/reentrant/reentrant_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <regex>

#include "lib/lock/api/guard.h"
#include "lib/lock/engine/lease.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/fixture.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class ReentrantLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReentrantLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// One client and its locks: to Redis a process of its own.
struct Peer {
  Peer(Fixture& fixture, LockOptions options)
      : client(fixture.runtime, fixture.network, fixture.options()), locks(client, options) {}
  redis::Client client;
  ReentrantLocks locks;
};

redis::Reply ask(redis::Client& client, std::initializer_list<std::string_view> command) {
  return client.call(command).reply;
}

TEST_P(ReentrantLockTest, Layout) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 20s});
    const auto lock = peer.locks.obtain("stock:42");
    lock->lock();
    const std::string owner = lock->acquisition();
    const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:[0-9]+");
    EXPECT_TRUE(std::regex_match(owner, form)) << owner;
    EXPECT_EQ(ask(peer.client, {"TYPE", "stock:42"}).text, "string");
    EXPECT_EQ(ask(peer.client, {"GET", "stock:42"}).text, owner);
    const std::int64_t left = ask(peer.client, {"PTTL", "stock:42"}).integer;
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 20000);

    // Who waits stands in two sorted sets beside it; the release makes the first one the holder, and tells it
    // through a channel of its process.
    std::atomic<int> subscribed = 0, messages = 0;
    Parker& parker = fixture.runtime.parker();
    const std::string alive_until = std::to_string(testing::server_ms(peer.client) + 60'000);
    ask(peer.client, {"ZADD", "holdfast:fair:queue:{stock:42}", "1.5", "a-process:7"});
    ask(peer.client, {"ZADD", "holdfast:fair:patience:{stock:42}", alive_until, "a-process:7"});
    const auto subscription = peer.client.subscribe(
        "holdfast:wake:a-process",
        [&](std::string_view payload) {
          EXPECT_EQ(payload, "a-process:7 held " + alive_until);
          ++messages;
          parker.unpark();
        },
        [&] { ++subscribed, parker.unpark(); });
    while (subscribed == 0) parker.park_until(kNever);
    lock->unlock();
    while (messages == 0) parker.park_until(kNever);
    EXPECT_EQ(ask(peer.client, {"GET", "stock:42"}).text, "a-process:7");
    const std::int64_t lives = ask(peer.client, {"PTTL", "stock:42"}).integer;
    EXPECT_GT(lives, 30'000);
    EXPECT_LE(lives, 60'000);
    ask(peer.client, {"DEL", "stock:42"});
    EXPECT_TRUE(ask(peer.client, {"KEYS", "*"}).items.empty());
  });
}

TEST_P(ReentrantLockTest, EachOutermostAcquisitionIsAnOwnerOfItsOwn) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {});
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    const std::string first = lock->acquisition();
    lock->lock();  // re-entry: the same owner, and the count on the server stays 1
    EXPECT_EQ(lock->acquisition(), first);
    EXPECT_EQ(lock->hold_count(), 2);
    EXPECT_EQ(ask(peer.client, {"GET", "k"}).text, first);
    lock->unlock();
    EXPECT_TRUE(lock->is_held_by_me());
    EXPECT_EQ(ask(peer.client, {"EXISTS", "k"}).integer, 1);
    lock->unlock();
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_EQ(lock->hold_count(), 0);
    lock->lock();
    EXPECT_NE(lock->acquisition(), first);
    lock->unlock();
  });
}

// The trap of "uuid:thread": what an earlier acquisition of this very task left on the server is not
// re-entered.
TEST_P(ReentrantLockTest, AnOldRecordIsNotReentered) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {});
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    const std::string old = lock->acquisition();
    lock->unlock();
    ask(peer.client, {"SET", "k", old});  // as a replica that had not yet received the release
    ask(peer.client, {"PEXPIRE", "k", "60000"});
    EXPECT_FALSE(lock->try_lock());
  });
}

TEST_P(ReentrantLockTest, ValidUntilCountsFromTheSending) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 10s, .renew = false});
    const auto lock = peer.locks.obtain("k");
    EXPECT_FALSE(lock->valid_until());
    const MonotonicTime before = fixture.runtime.now();
    lock->lock();
    const MonotonicTime after = fixture.runtime.now();
    ASSERT_TRUE(lock->valid_until());
    EXPECT_GE(*lock->valid_until(), lease_end(before, 10s));
    EXPECT_LE(*lock->valid_until(), lease_end(after, 10s));
    EXPECT_EQ(lease_end(before, 10s), before + 10s - 102ms);
    lock->unlock();
  });
}

TEST_P(ReentrantLockTest, RefusedWhileSomebodyElseHoldsIt) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto lock_a = a.locks.obtain("k"), lock_b = b.locks.obtain("k");
    EXPECT_TRUE(lock_a->try_lock());
    EXPECT_FALSE(lock_b->try_lock());
    EXPECT_FALSE(lock_b->try_lock_for(500ms));
    EXPECT_THROW(lock_b->release(), NotOwner);
    lock_a->unlock();
    EXPECT_TRUE(lock_b->try_lock());  // its wait of before, which gave up, keeps nothing
    lock_b->unlock();
  });
}

TEST_P(ReentrantLockTest, AnotherTaskOfTheProcessIsAnotherOwner) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {});
    const auto lock = peer.locks.obtain("k");
    EXPECT_EQ(lock, peer.locks.obtain("k"));
    lock->lock();
    Task other = fixture.runtime.spawn("client", [&] {
      EXPECT_FALSE(lock->is_held_by_me());
      EXPECT_FALSE(lock->try_lock());
      EXPECT_THROW(lock->release(), NotOwner);
    });
    other.join();
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

// The lease is a minute: without the wake-up this would take as long.
TEST_P(ReentrantLockTest, AReleaseWakesTheWaiter) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s, .observer = &observer});
    const auto lock_a = a.locks.obtain("k"), lock_b = b.locks.obtain("k");
    const MonotonicTime start = fixture.runtime.now();
    for (int round = 1; round <= 3; ++round) {
      lock_a->lock();
      Task waiter = fixture.runtime.spawn("client", [&] {
        lock_b->lock();
        lock_b->unlock();
      });
      observer.wait_for(Kind::waiting, static_cast<std::size_t>(round));
      lock_a->unlock();
      waiter.join();
    }
    EXPECT_LT(fixture.runtime.now() - start, 60s);
  });
}

TEST_P(ReentrantLockTest, AWaiterNeedsNoMessageWhenTheHolderIsGone) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {});
    ask(peer.client, {"SET", "k", "8743c9c0-0795-4907-87fd-6c719a6b4586:57"});
    ask(peer.client, {"PEXPIRE", "k", "250"});
    const auto lock = peer.locks.obtain("k");
    lock->lock();
    lock->unlock();
  });
}

TEST_P(ReentrantLockTest, AStopEndsTheWait) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {}), b(fixture, {.observer = &observer});
    const auto lock_a = a.locks.obtain("k"), lock_b = b.locks.obtain("k");
    lock_a->lock();
    std::stop_source stop;
    std::atomic<int> interrupted = 0;
    const auto wait = [&] {
      try {
        static_cast<void>(lock_b->try_lock_until(kNever, stop.get_token()));
      } catch (const Interrupted&) {
        ++interrupted;
      }
    };
    Task asker = fixture.runtime.spawn("client", wait);  // one asks Redis, one queues behind it
    Task queued = fixture.runtime.spawn("client", wait);
    observer.wait_for(Kind::waiting);
    stop.request_stop();
    asker.join();
    queued.join();
    EXPECT_EQ(interrupted, 2);
    lock_a->unlock();
    EXPECT_TRUE(lock_b->try_lock());  // the local turn is free again
    lock_b->unlock();
  });
}

// Of three tasks of one process the first gives up; the wake-up must reach those behind it.
TEST_P(ReentrantLockTest, WhoGivesUpHandsOn) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    const auto lock_a = a.locks.obtain("k"), lock_b = b.locks.obtain("k");
    lock_a->lock();
    std::atomic<int> granted = 0;
    Task impatient = fixture.runtime.spawn("client", [&] { EXPECT_FALSE(lock_b->try_lock_for(500ms)); });
    std::list<Task> patient;
    for (int i = 0; i < 2; ++i) {
      patient.push_back(fixture.runtime.spawn("client", [&] {
        lock_b->lock();
        ++granted;
        lock_b->unlock();
      }));
    }
    impatient.join();
    lock_a->unlock();
    patient.clear();  // joins
    EXPECT_EQ(granted, 2);
  });
}

TEST_P(ReentrantLockTest, ForeignTypesAreRejected) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {});
    ask(peer.client, {"SET", "k", "something else"});
    const auto lock = peer.locks.obtain("k");
    EXPECT_THROW(lock->lock(), Rejected);
    EXPECT_FALSE(lock->is_held_by_me());
    ask(peer.client, {"DEL", "k"});
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  });
}

TEST_P(ReentrantLockTest, MutualExclusionUnderContention) {
  run([](Fixture& fixture) {
    constexpr int kPeers = 3, kTasks = 3, kRounds = 15;
    std::list<Peer> peers;
    for (int i = 0; i < kPeers; ++i) peers.emplace_back(fixture, LockOptions{.lease = 60s});
    // Read and written in two steps, so that two holders at once lose an update.
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
    EXPECT_EQ(counter, kPeers * kTasks * kRounds);
    EXPECT_EQ(ask(peers.front().client, {"DBSIZE"}).integer, 0);  // nothing is left behind
  });
}

TEST_P(ReentrantLockTest, LeasesThatMakeNoSenseAreRefused) {
  run([](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_THROW(ReentrantLocks(client, {.lease = 5ms}), std::invalid_argument);
    EXPECT_THROW(ReentrantLocks(client, {.lease = 20ms + 1us}), std::invalid_argument);
  });
}

// A lock that is dropped while it is held is given back in the background; without its Locks it may be that
// only its lease ends it.
TEST_P(ReentrantLockTest, DroppedWhileHeld) {
  run([](Fixture& fixture) {
    Peer other(fixture, {});
    const auto lock = other.locks.obtain("k");
    {
      Peer peer(fixture, {.lease = 600s});
      peer.locks.obtain("k")->lock();  // of an object that nobody keeps
      lock->lock();                    // not at the end of that lease
      lock->unlock();
      {
        const auto dropped = peer.locks.obtain("k");
        dropped->lock();
        dropped->lock();
      }
      lock->lock();
      lock->unlock();
    }
    {
      Peer peer(fixture, {.lease = 200ms});
      peer.locks.obtain("k")->lock();
    }
    lock->lock();
    lock->unlock();
  });
}

}  // namespace
}  // namespace holdfast
