// redlock-cpp's ContinueLock(): what it writes, and the flaws for which it is kept.
#include "sim/historic/redlock/redlock_cpp.h"

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

class RedlockCppTest : public PortsTest {};
HF_ON_ALL_PORTS(RedlockCppTest);

// On three servers. `dead`: the last one is.
struct Party : IndependentServers {
  explicit Party(Fixture& fixture, LockOptions options = {}, bool dead = false)
      : IndependentServers(fixture, {.dead = dead ? 1 : 0}),
        lock(std::make_unique<RedlockCpp>(nodes, options, "k")) {}
  std::unique_ptr<RedlockCpp> lock;
};

TEST_P(RedlockCppTest, LocksAMajorityAndUnlocksAll) {
  run([](Fixture& fixture) {
    Party a(fixture), b(fixture);
    EXPECT_TRUE(a.lock->try_lock());
    ASSERT_TRUE(a.lock->valid_until());
    for (int number = 0; number < 3; ++number) {
      EXPECT_EQ(a.ask(number, {"GET", "k"}).text, a.lock->acquisition());
      EXPECT_GT(a.ask(number, {"PTTL", "k"}).integer, 29000);
    }
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_THROW(b.lock->release(), NotOwner);
    a.lock->unlock();
    EXPECT_FALSE(a.lock->is_held_by_me());
    for (int number = 0; number < 3; ++number) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    b.lock->lock();
    b.lock->unlock();
  });
}

TEST_P(RedlockCppTest, AMajorityIsEnoughAndAMinorityIsGivenBack) {
  run([](Fixture& fixture) {
    Party a(fixture, {}, true);
    EXPECT_TRUE(a.lock->try_lock());
    a.lock->unlock();
    a.ask(0, {"SET", "k", "other"});
    EXPECT_FALSE(a.lock->try_lock());
    EXPECT_EQ(a.ask(1, {"EXISTS", "k"}).integer, 0);
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, "other");
  });
}

TEST_P(RedlockCppTest, IsContinuedEveryThirdOfItsLease) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 3s, .observer = &observer}), b(fixture);
    a.lock->lock();
    const std::string id = a.lock->acquisition();
    observer.wait_for(Kind::renewed, 4);
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, id);
    EXPECT_FALSE(b.lock->try_lock());
    a.lock->unlock();
  });
}

// Somebody else had it in between and has given it back: nobody is told.
TEST_P(RedlockCppTest, MakesAnewWhatIsGone) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 3s, .observer = &observer});
    a.lock->lock();
    for (int number = 0; number < 3; ++number) a.ask(number, {"DEL", "k"});
    observer.wait_for(Kind::renewed, 1);
    EXPECT_EQ(observer.count(Kind::lost), 0u);
    EXPECT_EQ(a.ask(2, {"GET", "k"}).text, a.lock->acquisition());
    a.lock->unlock();
  });
}

TEST_P(RedlockCppTest, IsToldThatSomebodyElseHasIt) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 3s, .observer = &observer});
    a.lock->lock();
    for (int number = 0; number < 3; ++number) a.ask(number, {"SET", "k", "other"});
    observer.wait_for(Kind::lost, 1);
    EXPECT_FALSE(a.lock->is_held_by_me());
    EXPECT_EQ(a.ask(0, {"GET", "k"}).text, "other");
  });
}

// What the votes took within one second of the wall clock is not counted; across its end a whole one is.
TEST(RedlockCppClock, CountsWholeSeconds) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Party a(fixture, {.lease = 10s, .renew = false});
    a.ask(0, {"PING"});
    const Duration longest = 10s - 102ms, shortest = longest - 1s;
    for (int round = 0; round < 20; ++round) {
      a.lock->lock();
      const Duration validity = *a.lock->valid_until() - fixture.runtime.now();
      EXPECT_TRUE(validity == longest || validity == shortest) << validity.count();
      a.lock->unlock();
      fixture.runtime.sleep_for(70ms);
    }
  });
}

TEST(RedlockCppOptions, AreChecked) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_THROW(RedlockCpp({}, {}, "k"), std::invalid_argument);
    EXPECT_THROW(RedlockCpp({&client}, {.lease = 0ms}, "k"), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast::historic
