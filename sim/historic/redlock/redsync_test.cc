// redsync: what it writes, and the flaws for which it is kept.
#include "sim/historic/redlock/redsync.h"

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

class RedsyncTest : public PortsTest {};
HF_ON_ALL_PORTS(RedsyncTest);

// On three servers. `dead`: the last ones are.
struct Party : IndependentServers {
  explicit Party(Fixture& fixture, LockOptions options = {}, int dead = 0)
      : IndependentServers(fixture, {.dead = dead}), lock(std::make_unique<Redsync>(nodes, options, "k")) {}
  std::unique_ptr<Redsync> lock;
};

TEST_P(RedsyncTest, LocksAMajorityAndUnlocksAll) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.observer = &observer}), b(fixture);
    EXPECT_FALSE(a.lock->valid());
    EXPECT_TRUE(a.lock->try_lock());
    ASSERT_TRUE(a.lock->valid_until());
    // A hundredth for drift.
    EXPECT_LE(*a.lock->valid_until() - fixture.runtime.now(), 29'700ms);
    EXPECT_GT(*a.lock->valid_until() - fixture.runtime.now(), 25s);
    for (int number = 0; number < 3; ++number) {
      EXPECT_EQ(a.ask(number, {"GET", "k"}).text, a.lock->acquisition());
      EXPECT_GT(a.ask(number, {"PTTL", "k"}).integer, 25'000);
    }
    EXPECT_TRUE(a.lock->valid());
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_THROW(b.lock->release(), NotOwner);
    for (int number = 0; number < 3; ++number) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 1);
    a.lock->release();
    EXPECT_FALSE(a.lock->is_held_by_me());
    EXPECT_EQ(observer.count(Kind::released), 1u);
    for (int number = 0; number < 3; ++number) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    b.lock->lock();
    b.lock->release();
  });
}

TEST_P(RedsyncTest, AMajorityIsEnoughAndAMinorityIsGivenBack) {
  run([](Fixture& fixture) {
    Party a(fixture, {}, 1);
    EXPECT_TRUE(a.lock->try_lock());
    EXPECT_TRUE(a.lock->valid());
    a.lock->release();
    a.ask(0, {"SET", "k", "other"});
    EXPECT_FALSE(a.lock->try_lock());
    EXPECT_EQ(a.ask(1, {"EXISTS", "k"}).integer, 0);
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, "other");
    EXPECT_FALSE(a.lock->try_lock_until(fixture.runtime.now() + 300ms));
  });
}

TEST_P(RedsyncTest, SaysAtUnlockThatItHadExpired) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.observer = &observer});
    a.lock->lock();
    for (int number = 0; number < 2; ++number) a.ask(number, {"DEL", "k"});
    EXPECT_FALSE(a.lock->valid());
    EXPECT_THROW(a.lock->release(), LockLost);
    EXPECT_EQ(observer.count(Kind::lost), 1u);
    a.lock->lock();
    for (int number = 0; number < 2; ++number) a.ask(number, {"SET", "k", "other"});
    EXPECT_THROW(a.lock->release(), LockLost);
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, "other");
  });
}

TEST_P(RedsyncTest, WithoutAMajorityThatAnswersItIsAnErrorToAskWhetherItIsValid) {
  run([](Fixture& fixture) {
    Party a(fixture);
    a.lock->lock();
    for (int number = 0; number < 2; ++number) {  // no string: GET is refused
      a.ask(number, {"DEL", "k"});
      a.ask(number, {"LPUSH", "k", "other"});
    }
    EXPECT_THROW(static_cast<void>(a.lock->valid()), Unavailable);
    EXPECT_THROW(a.lock->release(), Unavailable);
  });
}

// What the others said is over by the time that the slowest has answered.
TEST(RedsyncValid, SaysYesAfterTheEnd) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Party a(fixture, {.lease = 500ms}), b(fixture);
    a.lock->lock();
    // No replica acknowledges: the commands behind this one wait as long.
    Task slow = fixture.runtime.spawn("client", [&] { a.ask(2, {"WAIT", "1", "700"}); });
    fixture.runtime.sleep_for(10ms);
    EXPECT_TRUE(a.lock->valid());
    EXPECT_FALSE(a.lock->is_held_by_me());
    EXPECT_TRUE(b.lock->try_lock()) << "it is over on the server, too";
    slow.join();
  });
}

// lock() gives up.
TEST(RedsyncWaiting, EndsAfterThirtyTwoAttempts) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Party a(fixture), b(fixture);
    for (int number = 0; number < 3; ++number) a.ask(number, {"SET", "k", "other"});
    const MonotonicTime from = fixture.runtime.now();
    EXPECT_THROW(a.lock->lock(), Unavailable);
    EXPECT_GE(fixture.runtime.now() - from, 31 * Redsync::kLeastDelay);
    EXPECT_LE(fixture.runtime.now() - from, 31 * Redsync::kMostDelay + 1s);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(a.lock->try_lock_until(kNever, stop.get_token())), Interrupted);
  });
}

TEST(RedsyncOptions, AreChecked) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_THROW(Redsync({}, {}, "k"), std::invalid_argument);
    EXPECT_THROW(Redsync({&client}, {.lease = 0ms}, "k"), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast::historic
