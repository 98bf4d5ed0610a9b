// Both sides of one read-write lock in one hand: re-entry, the writer that reads, downgrade, upgrade.
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

class ReadWriteLockSidesTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, ReadWriteLockSidesTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(ReadWriteLockSidesTest, BothSidesAreReentrant) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto lock = a.obtain(), other = b.obtain();
    lock->lock_shared();
    const std::string first = lock->read().acquisition();
    EXPECT_TRUE(lock->try_lock_shared());
    EXPECT_TRUE(lock->try_lock_shared_for(1s));
    EXPECT_EQ(lock->read().hold_count(), 3);
    EXPECT_EQ(lock->hold_count(), 0);
    EXPECT_EQ(lock->read().acquisition(), first);
    EXPECT_EQ(ask(a.client, {"ZCARD", kReaders}).integer, 1);
    lock->unlock_shared();
    lock->unlock_shared();
    EXPECT_FALSE(other->try_lock());
    lock->unlock_shared();
    EXPECT_THROW(lock->release_shared(), NotOwner);

    lock->lock();
    EXPECT_TRUE(lock->try_lock());
    EXPECT_EQ(lock->hold_count(), 2);
    lock->unlock();
    EXPECT_FALSE(other->try_lock_shared());
    lock->unlock();
    EXPECT_TRUE(other->try_lock_shared());
    other->unlock_shared();
  });
}

TEST_P(ReadWriteLockSidesTest, TheWriterReads) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto lock = a.obtain(), other = b.obtain();
    lock->lock();
    lock->lock_shared();
    EXPECT_TRUE(lock->try_lock_shared());
    EXPECT_EQ(lock->read().hold_count(), 2);
    EXPECT_TRUE(lock->read().is_held_by_me());
    EXPECT_EQ(lock->read().acquisition(), lock->acquisition());
    EXPECT_EQ(ask(a.client, {"EXISTS", kReaders}).integer, 0);
    lock->unlock_shared();
    lock->unlock_shared();
    EXPECT_EQ(lock->read().hold_count(), 0);
    EXPECT_TRUE(lock->is_held_by_me());
    EXPECT_FALSE(other->try_lock_shared());
    lock->unlock();
    EXPECT_EQ(ask(a.client, {"DBSIZE"}).integer, 0);
  });
}

TEST_P(ReadWriteLockSidesTest, TheWriterGivesTheWriteSideBackFirst) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {});
    const auto lock = a.obtain(), other = b.obtain();
    lock->lock();
    lock->lock();
    const std::string owner = lock->acquisition();
    lock->lock_shared();
    lock->lock_shared();
    lock->unlock();  // still a writer
    EXPECT_FALSE(other->try_lock_shared());
    lock->unlock();  // a reader, twice deep
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_EQ(lock->hold_count(), 0);
    EXPECT_EQ(lock->read().hold_count(), 2);
    EXPECT_TRUE(lock->read().is_held_by_me());
    EXPECT_EQ(lock->read().acquisition(), owner);
    EXPECT_THROW(lock->release(), NotOwner);
    EXPECT_FALSE(other->try_lock());
    EXPECT_TRUE(other->try_lock_shared());
    other->unlock_shared();
    lock->unlock_shared();
    EXPECT_FALSE(other->try_lock());
    lock->unlock_shared();
    EXPECT_TRUE(other->try_lock());
    other->unlock();
  });
}

// While somebody else asks for the write side all the time.
TEST_P(ReadWriteLockSidesTest, NoWriterGetsInBetweenAtADowngrade) {
  run([](Fixture& fixture) {
    Peer a(fixture, {}), b(fixture, {}), c(fixture, {});
    const auto lock = a.obtain(), hunter = b.obtain(), reader = c.obtain();
    lock->lock();
    std::atomic<bool> done = false;
    std::atomic<int> caught = 0;
    Sign asked(fixture.runtime);
    Task hunt = fixture.runtime.spawn("client", [&] {
      while (!done) {
        if (hunter->try_lock()) {
          ++caught;
          hunter->unlock();
        }
        asked.give();
      }
    });
    Task read = fixture.runtime.spawn("client", [&] { reader->lock_shared(); });
    c.observer.wait_for(Kind::waiting);
    asked.wait(3);
    lock->downgrade();
    read.join();  // readers come in
    EXPECT_TRUE(lock->read().is_held_by_me());
    EXPECT_EQ(lock->read().hold_count(), 1);
    EXPECT_FALSE(lock->is_held_by_me());
    asked.wait(asked.given() + 3);
    done = true;
    hunt.join();
    EXPECT_EQ(caught, 0);
    EXPECT_THROW(lock->downgrade(), NotOwner);
    lock->unlock_shared();
    EXPECT_EQ(a.observer.count(Kind::acquired), 2u);
    EXPECT_EQ(a.observer.count(Kind::released), 2u);
  });
}

TEST_P(ReadWriteLockSidesTest, DowngradeTakesReadsAlong) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lock = {.fencing = true}}), b(fixture, {.lock = {.fencing = true}});
    const auto lock = a.obtain(), other = b.obtain();
    EXPECT_THROW(lock->downgrade(), NotOwner);
    lock->lock();
    const std::optional<std::uint64_t> token = lock->token();
    lock->lock();
    EXPECT_THROW(lock->downgrade(), NotOwner);  // twice deep
    lock->unlock();
    lock->lock_shared();
    lock->downgrade();
    EXPECT_EQ(lock->read().hold_count(), 2);
    EXPECT_EQ(lock->read().token(), token);
    EXPECT_EQ(a.observer.count(Kind::extended), 1u);  // the reader's lease counts from now
    EXPECT_EQ(a.observer.valid_until(Kind::extended), lock->read().valid_until());
    lock->unlock_shared();
    lock->unlock_shared();
    EXPECT_TRUE(other->try_lock());
    ASSERT_TRUE(token && other->token());
    EXPECT_GT(*other->token(), *token);
    other->unlock();
  });
}

TEST_P(ReadWriteLockSidesTest, UpgradesAreRefused) {
  run([](Fixture& fixture) {
    Peer a(fixture, {});
    const auto lock = a.obtain();
    lock->lock_shared();
    EXPECT_THROW(lock->lock(), WouldDeadlock);
    EXPECT_THROW(static_cast<void>(lock->try_lock()), WouldDeadlock);
    EXPECT_THROW(static_cast<void>(lock->try_lock_for(10s)), WouldDeadlock);
    EXPECT_TRUE(lock->read().is_held_by_me());
    lock->unlock_shared();
    lock->lock();
    lock->downgrade();
    EXPECT_THROW(lock->lock(), WouldDeadlock);
    lock->unlock_shared();
    lock->lock();
    lock->unlock();
  });
}

// Not fair: a reader comes in though a writer waits.

}  // namespace
}  // namespace holdfast
