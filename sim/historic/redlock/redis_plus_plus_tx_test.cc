// redis++'s RedMutex without scripts: what it writes, and the flaws for which it is kept.
#include "sim/historic/redlock/redis_plus_plus_tx.h"

#include <gtest/gtest.h>

#include <memory>

#include "sim/historic/testing/independent_servers.h"
#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class RedisPlusPlusTxTest : public PortsTest {};
HF_ON_ALL_PORTS(RedisPlusPlusTxTest);

// On three servers. `dead`: the last one is.
struct Party : IndependentServers {
  explicit Party(Fixture& fixture, LockOptions options = {}, bool dead = false)
      : IndependentServers(fixture, {.dead = dead ? 1 : 0}),
        lock(std::make_unique<RedisPlusPlusTx>(nodes, options, "k")) {}
  std::unique_ptr<RedisPlusPlusTx> lock;
};

TEST_P(RedisPlusPlusTxTest, LocksAMajorityAndUnlocksAll) {
  run([](Fixture& fixture) {
    Party a(fixture), b(fixture);
    EXPECT_TRUE(a.lock->try_lock());
    for (int number = 0; number < 3; ++number) {
      EXPECT_EQ(a.ask(number, {"GET", "k"}).text, a.lock->acquisition());
      EXPECT_GT(a.ask(number, {"PTTL", "k"}).integer, 29000);
    }
    EXPECT_FALSE(a.lock->try_lock());  // its own, too
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_FALSE(b.lock->try_lock_for(20ms));
    EXPECT_THROW(b.lock->release(), NotOwner);
    a.lock->unlock();
    for (int number = 0; number < 3; ++number) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    b.lock->lock();
    b.lock->unlock();
  });
}

TEST_P(RedisPlusPlusTxTest, IsExtendedAfterHalfItsLease) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 400ms, .observer = &observer}), b(fixture);
    a.lock->lock();
    observer.wait_for(Kind::renewed, 3);
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_GT(a.ask(0, {"PTTL", "k"}).integer, 0);
    a.lock->unlock();
  });
}

// The extension of who has lost the lock counts as one.
TEST_P(RedisPlusPlusTxTest, ExtendsWhatItHasLost) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 400ms, .observer = &observer}), b(fixture);
    a.lock->lock();
    for (int number = 0; number < 3; ++number) a.ask(number, {"DEL", "k"});
    b.lock->lock();
    const std::string other = b.lock->acquisition();
    observer.wait_for(Kind::renewed, 2);
    EXPECT_EQ(observer.count(Kind::lost), 0u);
    EXPECT_TRUE(a.lock->is_held_by_me());
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, other);
    EXPECT_GT(a.ask(0, {"PTTL", "k"}).integer, 20000);  // and is not touched
    a.lock->unlock();
    EXPECT_EQ(b.ask(0, {"GET", "k"}).text, other);
    b.lock->unlock();
  });
}

// "Unlocked" by the name of the resource, which nobody has written.
TEST_P(RedisPlusPlusTxTest, KeepsAMinority) {
  run([](Fixture& fixture) {
    Party a(fixture);
    for (const int number : {0, 2}) a.ask(number, {"SET", "k", "other"});
    EXPECT_FALSE(a.lock->try_lock());
    EXPECT_EQ(a.ask(1, {"EXISTS", "k"}).integer, 1);
    for (const int number : {0, 2}) a.ask(number, {"SET", "k", "k"});
    EXPECT_FALSE(a.lock->try_lock());
    for (const int number : {0, 2}) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RedisPlusPlusTxTest, OneDeadServerMakesItThrowAndLeavesTheOthersLocked) {
  run([](Fixture& fixture) {
    Party a(fixture, {}, true);
    EXPECT_THROW(static_cast<void>(a.lock->try_lock()), Unavailable);
    for (const int number : {0, 1}) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 1);
    EXPECT_FALSE(a.lock->is_held_by_me());
  });
}

// A task of the watcher is not bound to its grant.
TEST_P(RedisPlusPlusTxTest, TasksOfTheWatcherPileUp) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 1s, .observer = &observer});
    for (int round = 0; round < 4; ++round) {
      a.lock->lock();
      a.lock->unlock();
    }
    a.lock->lock();
    observer.wait_for(Kind::renewed, 5);  // the first round of five
    const MonotonicTime first = fixture.runtime.now();
    observer.wait_for(Kind::renewed, 10);
    EXPECT_LT(fixture.runtime.now() - first, 900ms);  // one of them would need 2.5 s
    a.lock->unlock();
  });
}

TEST(RedisPlusPlusTxOptions, AreChecked) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_THROW(RedisPlusPlusTx({}, {}, "k"), std::invalid_argument);
    EXPECT_THROW(RedisPlusPlusTx({&client}, {.lease = 0ms}, "k"), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast::historic
