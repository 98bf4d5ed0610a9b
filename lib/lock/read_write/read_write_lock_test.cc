// The read-write lock (not fair) on every pair of ports and Redis: layout, both sides, re-entry, downgrade,
// upgrade, waiting. Faults: read_write_faults_test.cc; fair: read_write_fair_test.cc.
#include "lib/lock/read_write/read_write_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <shared_mutex>

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

constexpr std::string_view kReaders = "holdfast:rw:readers:{k}";

class ReadWriteLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReadWriteLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(ReadWriteLockTest, Layout) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lock = {.lease = 20s}});
    Sign subscribed(fixture.runtime), messages(fixture.runtime);
    const auto subscription = peer.client.subscribe(
        "holdfast:rw:channel:{k}",
        [&](std::string_view payload) {
          EXPECT_EQ(payload, "");
          messages.give();
        },
        [&] { subscribed.give(); });
    subscribed.wait();

    const auto lock = peer.obtain();
    lock->lock();
    EXPECT_EQ(ask(peer.client, {"GET", "k"}).text, lock->acquisition() + " write");
    const std::int64_t left = ask(peer.client, {"PTTL", "k"}).integer;
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 20000);
    EXPECT_EQ(ask(peer.client, {"DBSIZE"}).integer, 1);
    lock->unlock();
    messages.wait(1);

    const std::int64_t before = testing::server_ms(peer.client);
    lock->lock_shared();
    const std::int64_t after = testing::server_ms(peer.client);
    EXPECT_EQ(ask(peer.client, {"DBSIZE"}).integer, 2);
    EXPECT_EQ(ask(peer.client, {"GET", "k"}).text, "readers");
    EXPECT_GE(ask(peer.client, {"PTTL", "k"}).integer, ask(peer.client, {"PTTL", kReaders}).integer - 10);
    const redis::Reply readers = ask(peer.client, {"ZRANGE", kReaders, "0", "-1", "WITHSCORES"});
    ASSERT_EQ(readers.items.size(), 2u);
    EXPECT_EQ(readers.items[0].text, lock->read().acquisition());
    EXPECT_GE(std::stoll(readers.items[1].text), before + 20000);
    EXPECT_LE(std::stoll(readers.items[1].text), after + 20000);
    EXPECT_LE(ask(peer.client, {"PTTL", kReaders}).integer, 20000);
    lock->unlock_shared();
    messages.wait(2);
    EXPECT_EQ(ask(peer.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(ReadWriteLockTest, AKeyWithATagKeepsItsSlot) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {});
    const auto lock = peer.obtain("stock:{42}:x");
    lock->lock_shared();
    EXPECT_EQ(ask(peer.client, {"EXISTS", "holdfast:rw:readers::stock:{42}:x"}).integer, 1);
    lock->unlock_shared();
  });
}

TEST_P(ReadWriteLockTest, ReadersTogetherAWriterAlone) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {}), c(fixture, {});
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    EXPECT_TRUE(one->try_lock_shared());
    EXPECT_TRUE(two->try_lock_shared());
    EXPECT_FALSE(three->try_lock());
    EXPECT_FALSE(three->try_lock_for(500ms));
    EXPECT_EQ(ask(a.client, {"ZCARD", kReaders}).integer, 2);
    one->unlock_shared();
    EXPECT_FALSE(three->try_lock());
    two->unlock_shared();
    EXPECT_TRUE(three->try_lock());
    EXPECT_FALSE(one->try_lock_shared());
    EXPECT_FALSE(one->try_lock_shared_for(500ms));
    EXPECT_FALSE(two->try_lock());
    EXPECT_THROW(one->release_shared(), NotOwner);
    EXPECT_THROW(one->release(), NotOwner);
    three->unlock();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(ReadWriteLockTest, ReadersGoToAnotherProcess) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lock = {.lease = 20s}}), b(fixture, {.lock = {.lease = 600s}}), c(fixture, {});
    const auto gives = a.obtain(), takes = b.obtain(), writer = c.obtain();
    gives->lock_shared();
    const std::string detached = gives->read().detach();
    EXPECT_FALSE(gives->read().is_held_by_me());
    EXPECT_FALSE(writer->adopt(detached)) << "it was no writer's";
    EXPECT_TRUE(takes->read().adopt(detached));
    EXPECT_FALSE(gives->read().adopt(detached)) << "once only";
    EXPECT_FALSE(writer->try_lock());
    EXPECT_EQ(ask(a.client, {"ZRANGE", kReaders, "0", "-1"}).items.at(0).text, takes->read().acquisition());
    EXPECT_EQ(ask(a.client, {"ZCARD", kReaders}).integer, 1);
    EXPECT_GT(ask(a.client, {"PTTL", kReaders}).integer, 500'000);
    EXPECT_GT(ask(a.client, {"PTTL", "k"}).integer, 500'000);
    EXPECT_THROW(static_cast<void>(takes->adopt(detached)), WouldDeadlock) << "it reads";
    takes->unlock_shared();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
    EXPECT_TRUE(writer->try_lock());
  });
}

TEST_P(ReadWriteLockTest, AReaderWhoseLeaseIsOverIsNotTakenUp) {
  run([](Fixture& fixture) {
    Peer brief(fixture, {.lock = {.lease = 200ms}}), a(fixture, {}), b(fixture, {});
    const auto gives = brief.obtain(), stays = a.obtain(), takes = b.obtain();
    stays->lock_shared();  // so that the record is there
    gives->lock_shared();
    const std::string detached = gives->read().detach();
    while (testing::server_ms(a.client) <
           std::stoll(ask(a.client, {"ZSCORE", kReaders, detached.substr(0, detached.find('#'))}).text))
      fixture.runtime.sleep_for(1ms);
    EXPECT_FALSE(takes->read().adopt(detached));
    stays->unlock_shared();
    EXPECT_TRUE(takes->try_lock());
  });
}

// Who writes and reads gives both away at once.
TEST_P(ReadWriteLockTest, AWriterGoesToAnotherProcessWithWhatItReads) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto gives = a.obtain(), takes = b.obtain();
    gives->lock();
    gives->lock_shared();
    EXPECT_THROW(static_cast<void>(gives->read().detach()), NotOwner);
    const std::string detached = gives->detach();
    EXPECT_FALSE(gives->read().is_held_by_me());
    EXPECT_THROW(gives->release_shared(), NotOwner);
    EXPECT_FALSE(takes->read().adopt(detached)) << "it was no reader's";
    EXPECT_TRUE(takes->adopt(detached));
    EXPECT_THROW(static_cast<void>(takes->read().adopt(detached)), WouldDeadlock);
    EXPECT_FALSE(gives->try_lock_shared());
    takes->unlock();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

// Readers and writers of several processes, each with several tasks: nobody sees what must not be.
TEST_P(ReadWriteLockTest, ExclusionUnderContention) {
  run([](Fixture& fixture) {
    constexpr int kPeers = 3, kTasks = 3, kRounds = 12;
    std::list<Peer> peers;
    for (int i = 0; i < kPeers; ++i) peers.emplace_back(fixture, ReadWriteOptions{.lock = {.lease = 60s}});
    std::atomic<int> reading = 0, writing = 0, wrong = 0, writes = 0;
    {
      std::list<Task> tasks;
      int number = 0;
      for (Peer& peer : peers) {
        for (int i = 0; i < kTasks; ++i) {
          tasks.push_back(fixture.runtime.spawn("client", [&, number = number++] {
            const auto lock = peer.obtain();
            for (int round = 0; round < kRounds; ++round) {
              if ((round + number) % 3 == 0) {
                const std::unique_lock guard(*lock);
                if (++writing != 1 || reading != 0) ++wrong;
                ++writes;
                fixture.runtime.yield();
                --writing;
              } else {
                const std::shared_lock guard(*lock);
                ++reading;
                if (writing != 0) ++wrong;
                fixture.runtime.yield();
                --reading;
              }
            }
          }));
        }
      }
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(writes, kPeers * kTasks * kRounds / 3);
    EXPECT_EQ(ask(peers.front().client, {"DBSIZE"}).integer, 0);
  });
}

// The lease is a minute: without the wake-ups this would take as long.
TEST_P(ReadWriteLockTest, ReleasesWakeTheOtherSide) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lock = {.lease = 60s}}), b(fixture, {.lock = {.lease = 60s}}),
        c(fixture, {.lock = {.lease = 60s}});
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    const MonotonicTime start = fixture.runtime.now();
    one->lock();
    {
      Task reader = fixture.runtime.spawn("client", [&] { two->lock_shared(), two->unlock_shared(); });
      Task other = fixture.runtime.spawn("client", [&] { three->lock_shared(), three->unlock_shared(); });
      b.observer.wait_for(Kind::waiting);
      c.observer.wait_for(Kind::waiting);
      one->unlock();
    }
    one->lock_shared();
    two->lock_shared();
    {
      Task writer = fixture.runtime.spawn("client", [&] { three->lock(), three->unlock(); });
      c.observer.wait_for(Kind::waiting, 2);
      one->unlock_shared();
      two->unlock_shared();
    }
    EXPECT_LT(fixture.runtime.now() - start, 60s);
  });
}

TEST_P(ReadWriteLockTest, ReadersPassAWaitingWriter) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {}), c(fixture, {});
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    one->lock_shared();
    Task writer = fixture.runtime.spawn("client", [&] { two->lock(), two->unlock(); });
    b.observer.wait_for(Kind::waiting);
    EXPECT_TRUE(three->try_lock_shared());
    three->unlock_shared();
    one->unlock_shared();
    writer.join();
  });
}

// A task that asks for the read side is no reason to refuse another one of its process.
TEST_P(ReadWriteLockTest, AskingReadersDoNotRefuseEachOther) {
  run([](Fixture& fixture) {
    Peer a(fixture, {});
    const auto lock = a.obtain();
    lock->lock_shared(), lock->unlock_shared();  // the script is known
    a.link.hold_request(std::string(kReadWriteAcquire.sha1));
    const auto read = [&] {
      EXPECT_TRUE(lock->try_lock_shared());
      lock->unlock_shared();
    };
    Task one = fixture.runtime.spawn("client", read);
    a.link.wait_held();
    Sign started(fixture.runtime);
    Task two = fixture.runtime.spawn("client", [&] {
      started.give();
      read();
    });
    started.wait();
    fixture.runtime.yield();
    a.link.release_request();
  });
}

TEST_P(ReadWriteLockTest, StandardGuards) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto lock = a.obtain(), other = b.obtain();
    {
      std::shared_lock one(*lock);
      std::shared_lock two(*other, std::try_to_lock);
      EXPECT_TRUE(two.owns_lock());
      std::unique_lock writer(*other, std::defer_lock);
      two.unlock();
      EXPECT_FALSE(writer.try_lock_for(500ms));
      EXPECT_FALSE(writer.try_lock_until(fixture.runtime.now() + 500ms));
    }
    {
      std::unique_lock writer(*lock, 60s);
      EXPECT_TRUE(writer.owns_lock());
      std::shared_lock reader(*other, 500ms);
      EXPECT_FALSE(reader.owns_lock());
      EXPECT_FALSE(reader.try_lock_until(fixture.runtime.now() + 500ms));
    }
    while (ask(a.client, {"DBSIZE"}).integer != 0) fixture.runtime.sleep_for(1ms);  // the last leave arrives
  });
}

TEST_P(ReadWriteLockTest, AStopEndsTheWaitOnBothSides) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto one = a.obtain(), two = b.obtain();
    one->lock();
    std::stop_source stop;
    Task reader = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(two->try_lock_shared_until(kNever, stop.get_token())), Interrupted);
    });
    Task writer = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(two->try_lock_until(kNever, stop.get_token())), Interrupted);
    });
    b.observer.wait_for(Kind::waiting, 2);
    stop.request_stop();
    reader.join();
    writer.join();
    one->unlock();
    EXPECT_TRUE(two->try_lock());
    two->unlock();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(ReadWriteLockTest, ForeignTypesAreRejected) {
  run([](Fixture& fixture) {
    Peer a(fixture, {});
    const auto lock = a.obtain();
    ask(a.client, {"SET", "k", "something else"});
    EXPECT_THROW(lock->lock(), Rejected);
    EXPECT_THROW(lock->lock_shared(), Rejected);  // a reader must not take it for a writer and wait
    EXPECT_THROW(static_cast<void>(lock->try_lock_shared()), Rejected);
    ask(a.client, {"DEL", "k"});
    ask(a.client, {"SET", kReaders, "something else"});
    EXPECT_THROW(lock->lock_shared(), Rejected);
    EXPECT_THROW(lock->lock(), Rejected);
    ask(a.client, {"DEL", kReaders});
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  });
}

TEST_P(ReadWriteLockTest, TokensRise) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lock = {.fencing = true}}), b(fixture, {.lock = {.fencing = true}});
    const auto one = a.obtain(), two = b.obtain();
    std::uint64_t last = 0;
    for (int round = 0; round < 3; ++round) {
      for (const auto& lock : {one, two}) {
        lock->lock();
        ASSERT_TRUE(lock->token());
        EXPECT_GT(*lock->token(), last);
        last = *lock->token();
        lock->unlock();
        lock->lock_shared();
        ASSERT_TRUE(lock->read().token());
        EXPECT_GT(*lock->read().token(), last);
        last = *lock->read().token();
        lock->unlock_shared();
      }
    }
  });
}

TEST_P(ReadWriteLockTest, ForcedOpen) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lock = {.lease = 60s}}), b(fixture, {.lock = {.lease = 60s}}), c(fixture, {});
    const auto one = a.obtain(), two = b.obtain(), three = c.obtain();
    EXPECT_FALSE(three->force_unlock());
    one->lock_shared();
    two->lock_shared();
    Task writer = fixture.runtime.spawn("client", [&] { three->lock(), three->unlock(); });
    c.observer.wait_for(Kind::waiting);
    EXPECT_TRUE(two->force_unlock());
    writer.join();
    EXPECT_THROW(one->release_shared(), LockLost);
    EXPECT_THROW(two->release_shared(), LockLost);
    one->lock();
    EXPECT_TRUE(two->read().force_unlock());
    EXPECT_THROW(one->release(), LockLost);
  });
}

}  // namespace
}  // namespace holdfast
