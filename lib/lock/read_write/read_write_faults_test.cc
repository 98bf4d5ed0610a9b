// The read-write lock when the wire fails and when time runs out: lost replies, leases of each reader,
// watchdog, loss.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <list>

#include "lib/lock/engine/lease.h"
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

constexpr std::string_view kReaders = "holdfast:rw:readers:{k}";

class ReadWriteFaults : public ::testing::TestWithParam<Where> {
 protected:
  // `straight` goes past the relays.
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_scripts(GetParam(), {&kReadWriteAcquire, &kReadWriteRelease, &kReadWriteRenew}, body);
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReadWriteFaults, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

std::string sha1(const redis::Script& script) { return std::string(script.sha1); }

TEST_P(ReadWriteFaults, LostRepliesOfAcquireAndRelease) {
  run([](Fixture& fixture, redis::Client& straight) {
    for (const bool fair : {false, true}) {
      Peer a(fixture, {.lock = {.lease = 60s, .fencing = true}, .fair = fair});
      const auto lock = a.obtain();
      a.link.lose_reply_to(sha1(kReadWriteAcquire), 3);
      lock->lock();
      EXPECT_EQ(ask(straight, {"GET", "k"}).text, lock->acquisition() + " write");
      a.link.lose_reply_to(sha1(kReadWriteRelease));
      lock->unlock();
      EXPECT_EQ(ask(straight, {"EXISTS", "k"}).integer, 0);

      a.link.lose_reply_to(sha1(kReadWriteAcquire), 3);
      lock->lock_shared();
      EXPECT_EQ(ask(straight, {"ZCARD", kReaders}).integer, 1);
      EXPECT_FALSE(ask(straight, {"ZSCORE", kReaders, lock->read().acquisition()}).is_nil());
      a.link.lose_reply_to(sha1(kReadWriteRelease));
      lock->unlock_shared();
      a.link.lose_reply_to(sha1(kReadWriteAcquire));
      EXPECT_TRUE(lock->try_lock_shared());
      lock->unlock_shared();
      EXPECT_EQ(a.observer.count(Kind::lost), 0u);
      EXPECT_EQ(a.observer.count(Kind::released), 3u);
      EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 1);  // the token
      a.link.lose_reply_to(sha1(kReadWriteRelease));
      lock->lock();
      EXPECT_TRUE(lock->force_unlock());
      EXPECT_THROW(lock->release(), LockLost);
    }
  });
}

// Both sides: what was granted unseen is given back in the background, long before its lease of a minute.
TEST_P(ReadWriteFaults, GivingUpUndoesAGrantNobodySaw) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, {.lock = {.lease = 60s}}), b(fixture, {.lock = {.lease = 60s}});
    const auto lock = a.obtain(), other = b.obtain();
    a.link.lose_reply_to(sha1(kReadWriteAcquire), 1'000'000);
    EXPECT_THROW(static_cast<void>(lock->try_lock_shared_for(100ms)), Unavailable);
    EXPECT_TRUE(other->try_lock_for(30s));
    other->unlock();
    EXPECT_THROW(static_cast<void>(lock->try_lock_for(100ms)), Unavailable);
    EXPECT_TRUE(other->try_lock_shared_for(30s));
    other->unlock_shared();
  });
}

// The first request is executed and its reply lost, the second one takes a while: what the client believes
// must not outlive what the server knows.
TEST_P(ReadWriteFaults, LostReplyOfADowngrade) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lock = {.lease = 1500ms, .renew = false}});
    const auto lock = a.obtain();
    lock->lock();
    a.link.lose_reply_to(sha1(kReadWriteRelease));
    Task late = fixture.runtime.spawn("client", [&] {
      while (ask(straight, {"GET", "k"}).text != "readers") fixture.runtime.yield();
      a.link.stall(true);  // the repetition
      fixture.runtime.sleep_for(400ms);
      a.link.stall(false);
    });
    lock->downgrade();
    late.join();
    const std::string owner = lock->read().acquisition();
    const std::int64_t server_until = std::stoll(ask(straight, {"ZSCORE", kReaders, owner}).text);
    const std::optional<Duration> left = lock->read().remaining_lease();  // read before the server's time
    ASSERT_TRUE(left);
    EXPECT_GE(std::chrono::milliseconds(server_until - testing::server_ms(straight)) + 10ms, *left);
    EXPECT_GE(ask(straight, {"PTTL", kReaders}).integer + 10, *left / 1ms);
    EXPECT_EQ(ask(straight, {"ZCARD", kReaders}).integer, 1);
    lock->unlock_shared();
  });
}

TEST_P(ReadWriteFaults, ADowngradeOfALostHold) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {});
    const auto lock = a.obtain();
    lock->lock();
    lock->lock_shared();
    ask(straight, {"DEL", "k"});
    EXPECT_THROW(lock->downgrade(), LockLost);
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_FALSE(lock->read().is_held_by_me());
    EXPECT_TRUE(lock->read().lost().stop_requested());
    EXPECT_EQ(lock->read().hold_count(), 1);  // lost, and not given back yet
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    EXPECT_THROW(lock->lock_shared(), LockLost);
    EXPECT_THROW(lock->release_shared(), LockLost);
    EXPECT_THROW(lock->release_shared(), NotOwner);
    EXPECT_EQ(a.observer.count(Kind::lost), 1u);
    EXPECT_TRUE(lock->try_lock());  // nothing stands in the way, in this process neither
    lock->unlock();
  });
}

TEST_P(ReadWriteFaults, ADowngradeThatNoServerAnswers) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, {.lock = {.lease = 60s}}), b(fixture, {.lock = {.lease = 60s}});
    const auto lock = a.obtain(), other = b.obtain();
    lock->lock();
    a.link.lose_reply_to(sha1(kReadWriteRelease), 1'000'000);
    EXPECT_THROW(lock->downgrade(), Unavailable);
    EXPECT_EQ(lock->read().hold_count(), 0);
    EXPECT_EQ(lock->hold_count(), 0);
    EXPECT_TRUE(other->try_lock_for(30s));  // given back in the background
    other->unlock();
  });
}

// Nobody holds on to a reader's hold that is over, while it is asked for.
TEST_P(ReadWriteFaults, ADowngradeThatLastsToTheEndOfTheLease) {
  run([](Fixture& fixture, redis::Client&) {
    for (const bool by_unlock : {false, true}) {
      Peer a(fixture, {.lock = {.lease = 1s}}), b(fixture, {.lock = {.lease = 60s}});
      const auto lock = a.obtain(), other = b.obtain();
      lock->lock();
      if (by_unlock) lock->lock_shared();
      a.link.lose_reply_to(sha1(kReadWriteRelease), 1'000'000);
      if (by_unlock) {
        EXPECT_THROW(lock->release(), LockLost);
      } else {
        EXPECT_THROW(lock->downgrade(), LockLost);
      }
      EXPECT_EQ(a.observer.count(Kind::lost), 1u);
      EXPECT_EQ(a.observer.count(Kind::extended), 0u);
      EXPECT_EQ(lock->read().hold_count(), by_unlock ? 1 : 0);
      if (by_unlock) lock->unlock_shared();
      EXPECT_TRUE(other->try_lock_for(30s));
      other->unlock();
    }
  });
}

// A reader that died holds up a writer for its lease; the others keep theirs.
TEST_P(ReadWriteFaults, EachReaderHasALeaseOfItsOwn) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer dying(fixture, {.lock = {.lease = 300ms, .renew = false}});
    Peer living(fixture, {.lock = {.lease = 300ms}});
    Peer w(fixture, {.lock = {.lease = 60s}});
    const auto dead = dying.obtain(), reader = living.obtain(), writer = w.obtain();
    dead->lock_shared();
    reader->lock_shared();
    EXPECT_EQ(ask(straight, {"ZCARD", kReaders}).integer, 2);
    std::atomic<bool> written = false;
    Task waiting = fixture.runtime.spawn("client", [&] {
      writer->lock();
      written = true;
      writer->unlock();
    });
    dying.observer.wait_for(Kind::lost);
    living.observer.wait_for(Kind::renewed, 6);  // two leases, at least
    EXPECT_FALSE(written);
    EXPECT_TRUE(reader->read().is_held_by_me());
    EXPECT_EQ(ask(straight, {"ZCARD", kReaders}).integer, 1);  // the dead one was swept out
    EXPECT_EQ(living.observer.count(Kind::lost), 0u);
    reader->unlock_shared();
    waiting.join();
    EXPECT_THROW(dead->release_shared(), LockLost);
  });
}

TEST_P(ReadWriteFaults, ADeadReaderAloneFreesTheWriterByItself) {
  run([](Fixture& fixture, redis::Client&) {
    Peer w(fixture, {.lock = {.lease = 60s}});
    const auto writer = w.obtain();
    {
      Peer dying(fixture, {.lock = {.lease = 300ms}});
      dying.obtain()->lock_shared();
    }
    writer->lock();
    writer->unlock();
    {
      Peer dying(fixture, {.lock = {.lease = 300ms}});
      dying.obtain()->lock();
    }
    writer->lock_shared();
    writer->unlock_shared();
  });
}

TEST_P(ReadWriteFaults, TheWatchdogRenewsBothSides) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lock = {.lease = 600ms}}), b(fixture, {.lock = {.lease = 600ms}});
    const auto reads = a.obtain(), writes = b.obtain("w");
    reads->lock_shared();
    writes->lock();
    a.link.lose_reply_to(sha1(kReadWriteRenew));
    b.link.lose_reply_to(sha1(kReadWriteRenew));
    a.observer.wait_for(Kind::renewed, 4);
    b.observer.wait_for(Kind::renewed, 4);
    EXPECT_EQ(a.observer.count(Kind::lost) + b.observer.count(Kind::lost), 0u);
    EXPECT_GT(ask(straight, {"PTTL", kReaders}).integer, 0);
    EXPECT_EQ(ask(straight, {"ZCARD", kReaders}).integer, 1);
    // While there is a reader, its key says so: locks of other kinds look there.
    constexpr const char* kOutlives =
        "return redis.call('pttl', KEYS[1]) >= redis.call('pttl', KEYS[2]) and 1 or 0";
    for (std::size_t renewals = 5; renewals <= 8; ++renewals) {
      a.observer.wait_for(Kind::renewed, renewals);
      EXPECT_EQ(ask(straight, {"EVAL", kOutlives, "2", "k", kReaders}).integer, 1) << renewals;
    }
    reads->unlock_shared();
    writes->unlock();
  });
}

// A writer becomes a reader: its watchdog goes on for the reader.
TEST_P(ReadWriteFaults, TheWatchdogRenewsWhoBecameAReader) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lock = {.lease = 300ms}}), b(fixture, {});
    const auto lock = a.obtain();
    lock->lock();
    a.observer.wait_for(Kind::renewed, 1);
    lock->downgrade();
    a.observer.wait_for(Kind::renewed, 6);
    EXPECT_TRUE(lock->read().is_held_by_me());
    EXPECT_FALSE(b.obtain()->try_lock());
    EXPECT_EQ(ask(straight, {"GET", "k"}).text, "readers");
    lock->unlock_shared();
    EXPECT_EQ(a.observer.count(Kind::lost), 0u);
  });
}

TEST_P(ReadWriteFaults, RenewalsAreBatched) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, {.lock = {.lease = 900ms}});
    std::list<std::shared_ptr<ReadWriteLock>> locks;
    a.link.count(sha1(kReadWriteRenew));
    for (int i = 0; i < 40; ++i) {
      locks.push_back(a.obtain("k" + std::to_string(i)));
      i % 2 == 0 ? locks.back()->lock() : locks.back()->lock_shared();
    }
    a.observer.wait_for(Kind::renewed, 120);
    for (const auto& lock : locks) lock->is_held_by_me() ? lock->unlock() : lock->unlock_shared();
    EXPECT_LT(a.link.counted(), 60);
    EXPECT_EQ(a.observer.count(Kind::lost), 0u);
  });
}

TEST_P(ReadWriteFaults, RenewalsBringNobodyBack) {
  run([](Fixture& fixture, redis::Client& straight) {
    const std::int64_t now = testing::server_ms(straight);
    const std::string past = std::to_string(now - 1), future = std::to_string(now + 20000);
    const std::string readers(kReaders);
    ask(straight, {"ZADD", readers, past, "late:1"});
    ask(straight, {"ZADD", readers, future, "live:1"});
    ask(straight, {"PEXPIRE", readers, "60000"});
    ask(straight, {"RPUSH", "bad", "something else"});
    const redis::Reply said =
        straight
            .eval(kReadWriteRenew,
                  std::array<std::string_view, 8>{"k", readers, "k", readers, "k2", "r2", "bad", readers},
                  std::array<std::string_view, 5>{"30000", "late:1", "live:1", "nobody:1", "live:1"})
            .reply;
    ASSERT_EQ(said.items.size(), 4u);
    EXPECT_EQ(said.items[0].integer, 0);
    EXPECT_EQ(said.items[1].integer, 1);
    EXPECT_EQ(said.items[2].integer, 0);
    EXPECT_NE(said.items[3].type, redis::Reply::Type::integer);
    EXPECT_EQ(ask(straight, {"ZSCORE", readers, "late:1"}).text, past);
    EXPECT_GE(std::stoll(ask(straight, {"ZSCORE", readers, "live:1"}).text), now + 30000);
    EXPECT_EQ(ask(straight, {"EXISTS", "k2", "r2"}).integer, 0);
    EXPECT_EQ(ask(straight, {"GET", "k"}).text, "readers");      // of the one that lives
    EXPECT_GT(ask(straight, {"PTTL", readers}).integer, 50000);  // not shortened
    (void)fixture;
  });
}

TEST_P(ReadWriteFaults, LossIsTold) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lock = {.lease = 300ms}});
    const auto lock = a.obtain();
    lock->lock_shared();
    const std::stop_token lost = lock->read().lost();
    ask(straight, {"DEL", kReaders});  // as a failover does
    a.observer.wait_for(Kind::lost);
    while (!lost.stop_requested()) fixture.runtime.yield();
    EXPECT_FALSE(lock->read().is_held_by_me());
    EXPECT_THROW(lock->lock_shared(), LockLost);
    EXPECT_THROW(lock->release_shared(), LockLost);
    EXPECT_EQ(ask(straight, {"EXISTS", kReaders}).integer, 0);

    lock->lock();
    lock->lock_shared();
    ask(straight, {"DEL", "k"});
    a.observer.wait_for(Kind::lost, 2);
    EXPECT_THROW(lock->lock_shared(), LockLost);
    EXPECT_FALSE(lock->read().is_held_by_me());
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_THROW(lock->release_shared(), LockLost);
    EXPECT_THROW(lock->release_shared(), NotOwner);
    lock->lock();
    lock->unlock();
  });
}

// Nothing passes, and the lease ends: told on the dot.
TEST_P(ReadWriteFaults, LossIsToldAtTheEndOfTheLease) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, {.lock = {.lease = 400ms}});
    const auto lock = a.obtain();
    lock->lock_shared();
    a.link.stall(true);
    a.observer.wait_for(Kind::lost);
    EXPECT_GE(a.observer.last(Kind::lost), *lock->read().valid_until());
    if (fixture.where == Where::embedded) {
      EXPECT_EQ(a.observer.last(Kind::lost), *lock->read().valid_until());
    }
    a.link.stall(false);
    EXPECT_THROW(lock->release_shared(), LockLost);
  });
}

TEST_P(ReadWriteFaults, AReaderThatEndsIsNotRenewedFor) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, {.lock = {.lease = 300ms}}), b(fixture, {.lock = {.lease = 60s}});
    const auto lock = a.obtain(), writer = b.obtain();
    Task careless = fixture.runtime.spawn("client", [&] { lock->lock_shared(); });
    careless.join();
    writer->lock();
    writer->unlock();
    EXPECT_EQ(a.observer.count(Kind::renewed), 0u);
  });
}

}  // namespace
}  // namespace holdfast
