// Redlock as published: what it writes, and the flaws for which it is kept.
#include "sim/historic/redlock/redlock_classic.h"

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

class RedlockClassicTest : public PortsTest {};
HF_ON_ALL_PORTS(RedlockClassicTest);

// On five servers. `dead`: how many of them cannot be reached.
struct Party : IndependentServers {
  explicit Party(Fixture& fixture, LockOptions options = {}, int dead = 0)
      : IndependentServers(fixture, {.count = 5, .dead = dead, .wait_for_servers = true}) {
    for (int number = 0; number < 5 - dead; ++number) ask(number, {"PING"});  // connected
    lock = std::make_unique<RedlockClassic>(nodes, options, "k");
  }
  std::unique_ptr<RedlockClassic> lock;
};

TEST_P(RedlockClassicTest, LocksAMajorityAndUnlocksAll) {
  run([](Fixture& fixture) {
    Party a(fixture), b(fixture);
    EXPECT_TRUE(a.lock->try_lock());
    for (int number = 0; number < 5; ++number) {
      EXPECT_EQ(a.ask(number, {"GET", "k"}).text, a.lock->acquisition());
      EXPECT_GT(a.ask(number, {"PTTL", "k"}).integer, 29000);
    }
    const Duration left = *a.lock->valid_until() - fixture.runtime.now();
    EXPECT_LE(left, 30s - 302ms);  // 1% and 2 ms
    EXPECT_GT(left, 29s);
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_FALSE(b.lock->try_lock_for(100ms));
    a.lock->unlock();
    for (int number = 0; number < 5; ++number) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    EXPECT_THROW(a.lock->release(), NotOwner);
    EXPECT_TRUE(b.lock->try_lock());
    b.lock->unlock();
  });
}

// What it got without a majority is given back at once, and nobody else's.
TEST_P(RedlockClassicTest, GivesAMinorityBack) {
  run([](Fixture& fixture) {
    Party a(fixture);
    for (const int number : {0, 2, 4}) a.ask(number, {"SET", "k", "other"});
    EXPECT_FALSE(a.lock->try_lock());
    for (const int number : {1, 3}) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    for (const int number : {0, 2, 4}) EXPECT_EQ(a.ask(number, {"GET", "k"}).text, "other");
    a.ask(2, {"DEL", "k"});
    EXPECT_TRUE(a.lock->try_lock());
    a.lock->unlock();
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, "other");
  });
}

TEST_P(RedlockClassicTest, ADeadServerIsANo) {
  run([](Fixture& fixture) {
    Party two_dead(fixture, {}, 2), three_dead(fixture, {}, 3);
    EXPECT_TRUE(two_dead.lock->try_lock());
    two_dead.lock->unlock();
    EXPECT_FALSE(three_dead.lock->try_lock());
    EXPECT_FALSE(three_dead.lock->try_lock_for(10ms));
  });
}

TEST_P(RedlockClassicTest, WaitsWithARandomDelayAndCanBeInterrupted) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture), b(fixture, {.observer = &observer});
    a.lock->lock();
    std::stop_source stop;
    Task stopper = fixture.runtime.spawn("client", [&] {
      observer.wait_for(Kind::waiting);
      stop.request_stop();
    });
    EXPECT_THROW(static_cast<void>(b.lock->try_lock_for(1h, stop.get_token())), Interrupted);
    stopper.join();
    Task waiter = fixture.runtime.spawn("client", [&] {
      b.lock->lock();
      b.lock->unlock();
    });
    observer.wait_for(Kind::waiting, 2);
    a.lock->unlock();
    waiter.join();
    EXPECT_EQ(observer.count(Kind::acquired), 1u);
  });
}

// The lease is over before the majority is asked: refused, though they all said OK.
TEST_P(RedlockClassicTest, ChecksItsValidityAfterTheLastReply) {
  run([](Fixture& fixture) {
    Party slow(fixture, {.lease = 90ms}, 2);  // 100 ms for the dead ones
    EXPECT_FALSE(slow.lock->try_lock());
    EXPECT_EQ(slow.ask(0, {"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RedlockClassicTest, IsNeitherRenewedNorToldOfItsEnd) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 100ms, .observer = &observer}), b(fixture);
    ASSERT_TRUE(a.lock->try_lock_for(10s));
    b.lock->lock();
    EXPECT_FALSE(a.lock->is_held_by_me());
    EXPECT_NO_THROW(a.lock->release());
    EXPECT_EQ(observer.count(Kind::lost), 0u);
    int with_b = 0;  // a's records end one after the other, and b needs a majority only
    for (int number = 0; number < 5; ++number)
      with_b += b.ask(number, {"GET", "k"}).text == b.lock->acquisition() ? 1 : 0;
    EXPECT_GE(with_b, 3);
    b.lock->unlock();
  });
}

// One server forgets, and a second majority is found.
TEST_P(RedlockClassicTest, AServerThatForgetsMakesASecondMajority) {
  run([](Fixture& fixture) {
    Party a(fixture), b(fixture);
    for (const int number : {3, 4}) a.ask(number, {"SET", "k", "unreachable for a"});
    EXPECT_TRUE(a.lock->try_lock());
    for (const int number : {3, 4}) a.ask(number, {"DEL", "k"});
    EXPECT_FALSE(b.lock->try_lock());
    a.ask(2, {"FLUSHDB"});  // restarted without its memory
    EXPECT_TRUE(b.lock->try_lock());
    EXPECT_TRUE(a.lock->is_held_by_me());
    EXPECT_TRUE(b.lock->is_held_by_me());
    a.lock->unlock();
    b.lock->unlock();
  });
}

TEST(RedlockClassicOptions, AreChecked) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_THROW(RedlockClassic({}, {}, "k"), std::invalid_argument);
    EXPECT_THROW(RedlockClassic({&client}, {.lease = 0ms}, "k"), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast::historic
