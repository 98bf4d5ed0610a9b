// The fair read-write lock: who comes first goes first, readers that follow each other together.
#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <vector>

#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::PeerOf<ReadWriteLocks, ReadWriteOptions>;

class ReadWriteFair : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReadWriteFair, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

constexpr std::string_view kQueue = "holdfast:rw:line:{k}", kWriters = "holdfast:rw:line-writers:{k}",
                           kPatience = "holdfast:rw:line-patience:{k}";

ReadWriteOptions fair(Duration lease) { return {.lock = {.lease = lease}, .fair = true}; }

TEST_P(ReadWriteFair, Layout) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(20s)), b(fixture, fair(20s)), c(fixture, fair(20s));
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    one->lock();
    Task writer = fixture.runtime.spawn("client", [&] { two->lock(), two->unlock(); });
    b.observer.wait_for(Kind::queued);
    Task reader = fixture.runtime.spawn("client", [&] { three->lock_shared(), three->unlock_shared(); });
    c.observer.wait_for(Kind::queued);
    const redis::Reply queue = ask(a.client, {"ZRANGE", kQueue, "0", "-1", "WITHSCORES"});
    const redis::Reply writers = ask(a.client, {"ZRANGE", kWriters, "0", "-1", "WITHSCORES"});
    ASSERT_EQ(queue.items.size(), 4u);
    EXPECT_EQ(queue.items[1].text, "1");
    EXPECT_EQ(queue.items[3].text, "2");
    ASSERT_EQ(writers.items.size(), 2u);
    EXPECT_EQ(writers.items[0].text, queue.items[0].text);
    EXPECT_EQ(writers.items[1].text, "1");
    const std::int64_t now = testing::server_ms(a.client);
    const std::int64_t alive = std::stoll(ask(a.client, {"ZSCORE", kPatience, queue.items[0].text}).text);
    EXPECT_GT(alive, now + 20000);
    EXPECT_LE(alive, now + 26667);  // a lease and a third, rounded up
    for (const std::string_view name : {kQueue, kWriters, kPatience}) {
      const std::int64_t left = ask(a.client, {"PTTL", name}).integer;
      EXPECT_GT(left, 0) << name;
      EXPECT_LE(left, 26667) << name;
    }
    one->unlock();
    writer.join();
    reader.join();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

// W0 holds; R1 R2 W1 R3 R4 W2 come in this order. Leases of a minute: by their end nothing is decided.
TEST_P(ReadWriteFair, FirstComeFirstServedInBatchesOfReaders) {
  run([](Fixture& fixture) {
    Peer holder(fixture, fair(60s));
    const auto held = holder.obtain();
    held->lock();
    struct Asker {
      bool writes;
      std::string name;
    };
    const std::vector<Asker> askers{{false, "R1"}, {false, "R2"}, {true, "W1"},
                                    {false, "R3"}, {false, "R4"}, {true, "W2"}};
    Mutex mutex(fixture.runtime);
    std::vector<std::string> order;
    Sign first_batch(fixture.runtime), second_batch(fixture.runtime);
    const MonotonicTime start = fixture.runtime.now();
    {
      std::list<Peer> peers;
      std::list<Task> tasks;
      for (std::size_t i = 0; i < askers.size(); ++i) {
        Peer& peer = peers.emplace_back(fixture, fair(60s));
        const Asker& asker = askers[i];
        tasks.push_back(fixture.runtime.spawn("client", [&, i] {
          const auto lock = peer.obtain();
          Lock& side = asker.writes ? static_cast<Lock&>(*lock) : lock->read();
          side.lock();
          {
            const std::scoped_lock guard(mutex);
            order.push_back(asker.name);
          }
          Sign& together = i < 2 ? first_batch : second_batch;
          if (!asker.writes) {  // leaves when its neighbour is in, too
            together.give();
            together.wait(2);
          }
          side.unlock();
        }));
        peer.observer.wait_for(Kind::queued);
      }
      held->unlock();
      tasks.clear();  // joins
    }
    ASSERT_EQ(order.size(), 6u);
    EXPECT_TRUE((order[0] == "R1" && order[1] == "R2") || (order[0] == "R2" && order[1] == "R1"));
    EXPECT_EQ(order[2], "W1");
    EXPECT_TRUE((order[3] == "R3" && order[4] == "R4") || (order[3] == "R4" && order[4] == "R3"));
    EXPECT_EQ(order[5], "W2");
    EXPECT_LT(fixture.runtime.now() - start, 60s);
    EXPECT_EQ(ask(holder.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(ReadWriteFair, ReadersDoNotPassAWaitingWriter) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(60s)), b(fixture, fair(60s)), c(fixture, fair(60s));
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    one->lock_shared();
    std::atomic<bool> written = false;
    Task writer = fixture.runtime.spawn("client", [&] {
      two->lock();
      written = true;
      two->unlock();
    });
    b.observer.wait_for(Kind::queued);
    EXPECT_FALSE(three->try_lock_shared());
    EXPECT_TRUE(one->try_lock_shared());  // re-entry does not queue, it would deadlock
    Task reader = fixture.runtime.spawn("client", [&] {
      three->lock_shared();
      EXPECT_TRUE(written);
      three->unlock_shared();
    });
    c.observer.wait_for(Kind::queued);
    one->unlock_shared();
    one->unlock_shared();
    reader.join();
    writer.join();
  });
}

// Readers come and go all the time, each with another one still in: the writer gets its turn nevertheless.
TEST_P(ReadWriteFair, TheWriterIsNotStarved) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(60s)), b(fixture, fair(60s)), c(fixture, fair(60s));
    std::atomic<bool> written = false;
    std::list<Task> tasks;
    Sign reading(fixture.runtime);
    for (Peer* peer : {&a, &b}) {
      for (int i = 0; i < 2; ++i) {
        tasks.push_back(fixture.runtime.spawn("client", [&, peer] {
          const auto lock = peer->obtain();
          while (!written) {
            lock->lock_shared();
            reading.give();
            fixture.runtime.yield();
            lock->unlock_shared();
          }
        }));
      }
    }
    reading.wait(20);
    const auto writer = c.obtain();
    writer->lock();
    written = true;
    writer->unlock();
    tasks.clear();  // joins
  });
}

// Records of waiters that died: a writer that is taken for alive for some time yet, and a reader behind it.
TEST_P(ReadWriteFair, TheDeadAreSkipped) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(2s));
    const auto lock = a.obtain();
    const auto bury = [&](Duration alive_for, bool writes) {
      const std::string until =
          std::to_string(testing::server_ms(a.client) + alive_for / std::chrono::milliseconds(1));
      ask(a.client, {"ZADD", kQueue, "1", "dead:1"});
      if (writes) ask(a.client, {"ZADD", kWriters, "1", "dead:1"});
      ask(a.client, {"ZADD", kPatience, until, "dead:1"});
    };
    for (const bool writes : {false, true}) {
      bury(250ms, writes);
      EXPECT_FALSE(lock->try_lock());
      EXPECT_EQ(lock->try_lock_shared(), !writes);  // a reader may go in beside a reader
      if (!writes) lock->unlock_shared();
      const MonotonicTime start = fixture.runtime.now();
      writes ? lock->lock_shared() : lock->lock();
      EXPECT_GE(fixture.runtime.now() - start, 100ms);
      EXPECT_LT(fixture.runtime.now() - start, 2s);
      writes ? lock->unlock_shared() : lock->unlock();
      EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
    }
  });
}

// The lock is free, a dead writer stands at the head of the queue, and one that lives behind it.
TEST_P(ReadWriteFair, WhoWaitsBehindADeadOneIsNotOvertaken) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(60s));
    const auto lock = a.obtain();
    const std::int64_t now = testing::server_ms(a.client);
    int place = 0;
    for (const auto& [who, until_ms] : {std::pair{"dead:1", now - 1}, std::pair{"alive:1", now + 60'000}}) {
      const std::string at = std::to_string(++place);
      ask(a.client, {"ZADD", kQueue, at, who});
      ask(a.client, {"ZADD", kWriters, at, who});
      ask(a.client, {"ZADD", kPatience, std::to_string(until_ms), who});
    }
    EXPECT_FALSE(lock->try_lock_shared());
    EXPECT_FALSE(lock->try_lock());
    const redis::Reply queue = ask(a.client, {"ZRANGE", kQueue, "0", "-1"});
    ASSERT_EQ(queue.items.size(), 1u);
    EXPECT_EQ(queue.items[0].text, "alive:1");
  });
}

// Dead readers stand at the head of the queue when the writer before them releases: whom they hide is woken.
TEST_P(ReadWriteFair, AReleaseWakesWhoStandsBehindTheDead) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(60s)), b(fixture, fair(60s));
    const auto one = a.obtain(), two = b.obtain();
    one->lock();
    ask(a.client, {"ZADD", kQueue, "1", "dead:1"});
    ask(a.client, {"ZADD", kPatience, "1", "dead:1"});
    // It is known to have died, but nobody has swept it out when the writer comes to stand behind it.
    Task writer = fixture.runtime.spawn("client", [&] { two->lock(), two->unlock(); });
    b.observer.wait_for(Kind::queued);
    ask(a.client, {"ZADD", kQueue, "0", "dead:2"});
    ask(a.client, {"ZADD", kPatience, "1", "dead:2"});
    const MonotonicTime start = fixture.runtime.now();
    one->unlock();
    writer.join();
    EXPECT_LT(fixture.runtime.now() - start, 30s);
  });
}

// A process that crashes in the queue.
TEST_P(ReadWriteFair, ACrashedWaiterHoldsUpForABoundedTime) {
  if (GetParam() == Where::threads) return;  // processes can be killed in worlds only
  run([](Fixture& fixture) {
    Peer a(fixture, fair(400ms)), b(fixture, fair(400ms));
    const auto one = a.obtain(), two = b.obtain();
    one->lock_shared();
    testing::OtherProcess& doomed = fixture.add_process("c1");
    doomed.start("client", [&] {
      redis::Client client(doomed.runtime(), doomed.network(), fixture.options());
      ReadWriteLocks locks(client, fair(400ms));
      const auto lock = locks.obtain("k");
      lock->lock();
    });
    while (ask(a.client, {"ZCARD", kWriters}).integer == 0) fixture.runtime.sleep_for(1ms);
    Task reader = fixture.runtime.spawn("client", [&] { two->lock_shared(), two->unlock_shared(); });
    b.observer.wait_for(Kind::queued);
    doomed.crash();
    const MonotonicTime start = fixture.runtime.now();
    reader.join();
    EXPECT_LT(fixture.runtime.now() - start, 3 * 400ms);
    one->unlock_shared();
  });
}

// A reader holds, a writer waits, a reader waits behind it; the writer gives up. No lease helps: a minute.
TEST_P(ReadWriteFair, GivingUpHandsOn) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(60s)), b(fixture, fair(60s)), c(fixture, fair(60s)), d(fixture, fair(60s));
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain(), four = d.obtain();
    const MonotonicTime start = fixture.runtime.now();
    one->lock_shared();
    std::stop_source stop;
    Task writer = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(two->try_lock_until(kNever, stop.get_token())), Interrupted);
    });
    b.observer.wait_for(Kind::queued);
    Task reader = fixture.runtime.spawn("client", [&] { three->lock_shared(), three->unlock_shared(); });
    c.observer.wait_for(Kind::queued);
    stop.request_stop();
    writer.join();
    reader.join();
    // And by its deadline; the next one is a writer.
    Task gives_up = fixture.runtime.spawn("client", [&] { EXPECT_FALSE(two->try_lock_for(100ms)); });
    b.observer.wait_for(Kind::queued, 2);
    Task next = fixture.runtime.spawn("client", [&] { four->lock(), four->unlock(); });
    d.observer.wait_for(Kind::queued);
    gives_up.join();
    one->unlock_shared();
    next.join();
    EXPECT_LT(fixture.runtime.now() - start, 60s);
  });
}

TEST_P(ReadWriteFair, DowngradeLetsTheNextReadersIn) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(60s)), b(fixture, fair(60s)), c(fixture, fair(60s));
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    one->lock();
    std::atomic<bool> written = false;
    Sign read(fixture.runtime);
    Task reader = fixture.runtime.spawn("client", [&] {
      two->lock_shared();
      read.give();
      two->unlock_shared();
    });
    b.observer.wait_for(Kind::queued);
    Task writer = fixture.runtime.spawn("client", [&] {
      three->lock();
      written = true;
      three->unlock();
    });
    c.observer.wait_for(Kind::queued);
    one->downgrade();
    read.wait();
    EXPECT_FALSE(written);
    one->unlock_shared();
    writer.join();
    reader.join();
  });
}

TEST_P(ReadWriteFair, PlacesSurviveLostReplies) {
  run([](Fixture& fixture) {
    Peer a(fixture, fair(60s)), b(fixture, fair(60s)), c(fixture, fair(60s));
    testing::load(a.client, {&kReadWriteAcquire, &kReadWriteRelease});
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    one->lock();
    Mutex mutex(fixture.runtime);
    std::string order;
    const auto take = [&](Lock& lock, char name) {
      lock.lock();
      {
        const std::scoped_lock guard(mutex);
        order += name;
      }
      lock.unlock();
    };
    b.link.lose_reply_to(std::string(kReadWriteAcquire.sha1), 2);
    Task first = fixture.runtime.spawn("client", [&] { take(*two, 'b'); });
    while (ask(a.client, {"ZCARD", kQueue}).integer == 0) fixture.runtime.yield();
    Task second = fixture.runtime.spawn("client", [&] { take(*three, 'c'); });
    c.observer.wait_for(Kind::queued);
    EXPECT_EQ(ask(a.client, {"ZCARD", kQueue}).integer, 2);  // asked again, queued once
    a.link.lose_reply_to(std::string(kReadWriteRelease.sha1));
    b.link.lose_reply_to(std::string(kReadWriteAcquire.sha1));
    one->unlock();
    first.join();
    second.join();
    EXPECT_EQ(order, "bc");
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(ReadWriteFair, ExclusionUnderContention) {
  run([](Fixture& fixture) {
    constexpr int kPeers = 3, kTasks = 3, kRounds = 8;
    std::list<Peer> peers;
    for (int i = 0; i < kPeers; ++i) peers.emplace_back(fixture, fair(60s));
    std::atomic<int> reading = 0, writing = 0, wrong = 0;
    const MonotonicTime start = fixture.runtime.now();
    {
      std::list<Task> tasks;
      int number = 0;
      for (Peer& peer : peers) {
        for (int i = 0; i < kTasks; ++i) {
          tasks.push_back(fixture.runtime.spawn("client", [&, number = number++] {
            const auto lock = peer.obtain();
            for (int round = 0; round < kRounds; ++round) {
              if ((round + number) % 3 == 0) {
                lock->lock();
                if (++writing != 1 || reading != 0) ++wrong;
                fixture.runtime.yield();
                --writing;
                lock->unlock();
              } else {
                lock->lock_shared();
                ++reading;
                if (writing != 0) ++wrong;
                fixture.runtime.yield();
                --reading;
                lock->unlock_shared();
              }
            }
          }));
        }
      }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_LT(fixture.runtime.now() - start, 60s);
    EXPECT_EQ(ask(peers.front().client, {"DBSIZE"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast
