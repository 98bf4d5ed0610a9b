// Redisson's read-write lock: what it writes, byte for byte, and the flaws for which it is kept.
#include "sim/historic/redisson/redisson_read_write.h"

#include <gtest/gtest.h>

#include <atomic>

#include "lib/testing/fixture.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class RedissonReadWriteTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, RedissonReadWriteTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

struct Peer {
  explicit Peer(Fixture& fixture, LockOptions options = {})
      : runtime(fixture.runtime),
        client(fixture.runtime, fixture.network, fixture.options()),
        redisson(std::make_shared<Redisson>(client, options)),
        locks(redisson, "k"),
        read(locks.read()),
        write(locks.write()) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::string field(std::string_view name) { return ask({"HGET", "k", name}).text; }
  std::int64_t pttl(std::string_view name = "k") { return ask({"PTTL", name}).integer; }
  std::string me() const { return redisson->owner(runtime.task_id()); }
  std::string timeout(int nth) const { return "{k}:" + me() + ":rwlock_timeout:" + std::to_string(nth); }
  void wait_subscribed() {
    while (ask({"PUBSUB", "NUMSUB", "redisson_rwlock:{k}"}).items[1].integer == 0) runtime.sleep_for(1ms);
  }
  Runtime& runtime;
  redis::Client client;
  std::shared_ptr<Redisson> redisson;
  RedissonReadWrite locks;
  RedissonReadLock& read;
  RedissonWriteLock& write;
};

TEST_P(RedissonReadWriteTest, ReadersShareAndHaveTimeoutsOfTheirOwn) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    a.read.lock();
    EXPECT_EQ(a.read.mode(), "read");
    EXPECT_EQ(a.read.acquisition(), a.me());
    EXPECT_EQ(a.field("mode"), "read");
    EXPECT_EQ(a.field(a.me()), "1");
    EXPECT_EQ(a.ask({"GET", a.timeout(1)}).text, "1");
    EXPECT_TRUE(a.read.try_lock());
    EXPECT_EQ(a.field(a.me()), "2");
    EXPECT_GT(a.pttl(a.timeout(2)), 20'000);
    EXPECT_TRUE(b.read.try_lock());
    EXPECT_FALSE(b.write.try_lock());
    a.read.unlock();
    EXPECT_EQ(a.field(a.me()), "1");
    EXPECT_EQ(a.ask({"EXISTS", a.timeout(2)}).integer, 0);
    a.read.unlock();
    EXPECT_EQ(a.field(a.me()), "");
    EXPECT_THROW(a.read.release(), NotOwner);
    EXPECT_EQ(b.field("mode"), "read");
    b.read.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RedissonReadWriteTest, AWriterExcludesAndMayRead) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    a.write.lock();
    EXPECT_EQ(a.write.acquisition(), a.me() + ":write");
    EXPECT_EQ(a.field("mode"), "write");
    EXPECT_EQ(a.field(a.me() + ":write"), "1");
    EXPECT_FALSE(b.write.try_lock());
    EXPECT_FALSE(b.read.try_lock());
    EXPECT_THROW(b.write.release(), NotOwner);
    EXPECT_TRUE(a.read.try_lock());
    a.read.unlock();
    EXPECT_EQ(a.field("mode"), "write");
    a.write.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_TRUE(b.write.try_lock());
    EXPECT_TRUE(a.write.force_unlock());
    EXPECT_FALSE(a.read.force_unlock());
  });
}

// The last reader wakes one of those that wait, a writer all.
TEST_P(RedissonReadWriteTest, MessagesWakeThoseThatWait) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer});
    a.read.lock();
    Task writer = fixture.runtime.spawn("client", [&] {
      b.write.lock();
      b.write.unlock();
    });
    observer.wait_for(Kind::waiting);
    a.wait_subscribed();
    a.read.unlock();
    writer.join();
    a.write.lock();
    std::atomic<int> inside = 0;
    std::vector<Task> readers;
    for (int i = 0; i < 2; ++i) {
      readers.push_back(fixture.runtime.spawn("client", [&] {
        b.read.lock();
        ++inside;
        b.read.unlock();
      }));
    }
    observer.wait_for(Kind::waiting, 3);
    a.wait_subscribed();
    a.write.unlock();
    for (Task& reader : readers) reader.join();
    EXPECT_EQ(inside, 2);
  });
}

// Readers come in past a writer that waits.
TEST_P(RedissonReadWriteTest, NobodyLooksForWritersThatWait) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer}), c(fixture);
    a.read.lock();
    Task writer = fixture.runtime.spawn("client", [&] { EXPECT_FALSE(b.write.try_lock_for(200ms)); });
    observer.wait_for(Kind::waiting);
    EXPECT_TRUE(c.read.try_lock());
    a.read.unlock();
    writer.join();
    c.read.unlock();
  });
}

TEST_P(RedissonReadWriteTest, AReaderThatWantsToWriteWaitsForItself) {
  run([](Fixture& fixture) {
    Peer a(fixture);
    a.read.lock();
    EXPECT_FALSE(a.write.try_lock());
    EXPECT_FALSE(a.write.try_lock_for(100ms));
    a.read.unlock();
    EXPECT_TRUE(a.write.try_lock());
    a.write.unlock();
  });
}

TEST_P(RedissonReadWriteTest, AWritersLeasesAddUp) {
  run([](Fixture& fixture) {
    Peer a(fixture);
    for (int depth = 1; depth <= 5; ++depth) {
      a.write.lock();
      EXPECT_GT(a.pttl(), depth * 30'000 - 10'000);
    }
    EXPECT_GT(a.pttl(), 140'000);  // that long do the others wait when it dies now
    a.write.unlock();
    EXPECT_LE(a.pttl(), 30'000);
    for (int depth = 4; depth >= 1; --depth) a.write.unlock();
  });
}

// From writer to reader: nobody is woken, and the timer of the name asks for the writer, finds none, stops.
TEST_P(RedissonReadWriteTest, ADowngradeTellsNobodyAndIsNotRenewed) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {.lease = 600ms, .observer = &observer}), b(fixture);
    int messages = 0;
    bool subscribed = false;
    const auto subscription = b.client.subscribe(
        "redisson_rwlock:{k}", [&](std::string_view) { ++messages; }, [&] { subscribed = true; });
    while (!subscribed) fixture.runtime.sleep_for(1ms);
    a.write.lock();
    a.read.lock();
    a.write.unlock();
    EXPECT_EQ(a.field("mode"), "read");
    EXPECT_TRUE(a.read.is_held_by_me());
    observer.wait_for(Kind::renew_failed);
    b.write.lock();  // when the lease is over
    EXPECT_TRUE(a.read.is_held_by_me());
    EXPECT_EQ(messages, 0);
    b.write.unlock();
  });
}

TEST_P(RedissonReadWriteTest, BothSidesAreRenewed) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {.lease = 300ms, .observer = &observer}), b(fixture);
    a.write.lock();
    observer.wait_for(Kind::renewed, 4);
    EXPECT_FALSE(b.read.try_lock());
    a.write.unlock();
    a.read.lock();
    observer.wait_for(Kind::renewed, 8);
    EXPECT_FALSE(b.write.try_lock());
    EXPECT_GT(a.pttl(a.timeout(1)), 0);
    a.read.unlock();
  });
}

// A reader that died: its timeout is renewed by the watchdog of a living one.
TEST_P(RedissonReadWriteTest, ADeadReaderIsKeptAliveByAnother) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {.lease = 300ms, .observer = &observer}), b(fixture);
    b.ask({"HSET", "k", "mode", "read", "dead:1", "1"});
    b.ask({"SET", "{k}:dead:1:rwlock_timeout:1", "1", "PX", "300"});
    b.ask({"PEXPIRE", "k", "300"});
    EXPECT_TRUE(a.read.try_lock());
    observer.wait_for(Kind::renewed, 8);  // 800 ms
    EXPECT_GT(b.pttl("{k}:dead:1:rwlock_timeout:1"), 0);
    a.read.unlock();
    EXPECT_FALSE(b.write.try_lock());  // nobody reads, and nobody writes
    b.write.lock();
    b.write.unlock();
  });
}

// Without a living one its timeout ends, and the lock with the last one.
TEST_P(RedissonReadWriteTest, ADeadReaderAloneIsGoneAfterItsLease) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    b.ask({"HSET", "k", "mode", "read", "dead:1", "1"});
    b.ask({"PEXPIRE", "k", "30000"});  // and no timeout any more
    EXPECT_TRUE(a.read.try_lock());
    a.read.unlock();
    EXPECT_TRUE(b.write.try_lock());
    b.write.unlock();
  });
}

TEST_P(RedissonReadWriteTest, AnUnlockOfALockThatIsGoneSucceeds) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    a.read.lock();
    b.ask({"DEL", "k"});
    EXPECT_NO_THROW(a.read.release());
    a.write.lock();
    b.ask({"DEL", "k"});
    EXPECT_NO_THROW(a.write.release());
    EXPECT_NO_THROW(b.read.release());  // of somebody who never had it
  });
}

}  // namespace
}  // namespace holdfast::historic
