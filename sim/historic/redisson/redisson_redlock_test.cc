// RedissonRedLock: what it does on its servers, and the flaws for which it is kept.
#include "sim/historic/redisson/redisson_redlock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>

#include "lib/testing/fixture.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class RedissonRedLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, RedissonRedLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

constexpr std::string_view kChannel = "redisson_lock__channel:{k}";

// Three servers that know nothing of each other, as three databases of one: what counts is that each has its
// own keys.
struct Party {
  explicit Party(Fixture& fixture, LockOptions options = {}) : runtime(fixture.runtime) {
    for (int number = 0; number < 3; ++number) {
      redis::ClientOptions of_node = fixture.options();
      of_node.database = number;
      clients.push_back(std::make_unique<redis::Client>(fixture.runtime, fixture.network, of_node));
      nodes.push_back(clients.back().get());
    }
    lock = std::make_unique<RedissonRedLock>(std::make_shared<RedissonServers>(nodes, options), "k");
  }
  redis::Reply ask(std::size_t number, std::initializer_list<std::string_view> command) {
    return nodes[number]->call(command).reply;
  }
  std::int64_t pttl(std::size_t number) { return ask(number, {"PTTL", "k"}).integer; }
  // Somebody else has that member.
  void other(std::size_t number, std::string_view ms = "30000") {
    ask(number, {"HSET", "k", "other:1", "1"});
    ask(number, {"PEXPIRE", "k", ms});
  }
  void wait_subscribed() {
    while (ask(0, {"PUBSUB", "NUMSUB", kChannel}).items[1].integer == 0) runtime.sleep_for(1ms);
  }
  Runtime& runtime;
  std::deque<std::unique_ptr<redis::Client>> clients;
  std::vector<redis::Client*> nodes;
  std::unique_ptr<RedissonRedLock> lock;
};

TEST_P(RedissonRedLockTest, LocksAllMembersAndUnlocksThem) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.observer = &observer}), b(fixture);
    a.lock->lock();
    for (std::size_t number = 0; number < 3; ++number) {
      EXPECT_EQ(a.ask(number, {"HGET", "k", a.lock->acquisition()}).text, "1");
      EXPECT_GT(a.pttl(number), 20'000);
    }
    EXPECT_EQ(observer.count(Kind::acquired), 1u);
    EXPECT_TRUE(a.lock->try_lock());
    EXPECT_EQ(a.lock->hold_count(), 2);
    EXPECT_FALSE(b.lock->try_lock());
    EXPECT_FALSE(b.lock->try_lock_for(100ms));
    a.lock->unlock();
    EXPECT_TRUE(a.lock->is_held_by_me());
    a.lock->unlock();
    for (std::size_t number = 0; number < 3; ++number) EXPECT_EQ(a.ask(number, {"EXISTS", "k"}).integer, 0);
    EXPECT_TRUE(b.lock->try_lock_for(1s));
    b.lock->unlock();
  });
}

TEST_P(RedissonRedLockTest, AMinorityMayFail) {
  run([](Fixture& fixture) {
    Party a(fixture);
    a.other(1);
    EXPECT_TRUE(a.lock->try_lock());
    EXPECT_EQ(a.ask(2, {"EXISTS", "k"}).integer, 1);
    a.lock->unlock();
    a.other(2);
    EXPECT_FALSE(a.lock->try_lock());
    EXPECT_FALSE(a.lock->try_lock_for(100ms));
    EXPECT_EQ(a.ask(0, {"EXISTS", "k"}).integer, 0) << "given back";
    EXPECT_EQ(a.ask(1, {"HGET", "k", "other:1"}).text, "1");
  });
}

TEST_P(RedissonRedLockTest, TheWatchdogsOfTheMembersRenew) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Party a(fixture, {.lease = 300ms, .observer = &observer}), b(fixture);
    a.lock->lock();
    observer.wait_for(Kind::renewed, 4);
    EXPECT_FALSE(b.lock->try_lock());
    a.lock->unlock();
    EXPECT_TRUE(b.lock->try_lock());
    b.lock->unlock();
  });
}

TEST_P(RedissonRedLockTest, AMemberIsTakenForTwiceTheWait) {
  run([](Fixture& fixture) {
    Party a(fixture, {.lease = 30s, .renew = false}), b(fixture);
    b.other(1);
    b.other(2);
    Task waiter = fixture.runtime.spawn("client", [&] { EXPECT_FALSE(a.lock->try_lock_for(1500ms)); });
    b.wait_subscribed();
    EXPECT_GT(b.pttl(0), 0);
    EXPECT_LE(b.pttl(0), 3000) << "and not the 30 s that were asked for";
    waiter.join();
    b.ask(1, {"DEL", "k"});
    b.ask(2, {"DEL", "k"});
    EXPECT_TRUE(a.lock->try_lock_for(1500ms));
    for (std::size_t number = 0; number < 3; ++number)
      EXPECT_GT(a.pttl(number), 20'000) << "in the end it is";
    a.lock->unlock();
  });
}

// The first member is gone and somebody else's before the second one answers: it is granted, and the record
// of the other one lives on for the lease that was meant for this one.
TEST_P(RedissonRedLockTest, NobodyLooksAtTheTimeAndAnothersRecordIsExtended) {
  run([](Fixture& fixture) {
    Party a(fixture, {.lease = 30s, .renew = false}), b(fixture);
    b.other(1);
    std::atomic<bool> granted = false;
    Task waiter = fixture.runtime.spawn("client", [&] {
      granted = a.lock->try_lock_for(30s);
      if (granted) a.lock->unlock();
    });
    b.wait_subscribed();
    while (b.ask(0, {"EXISTS", "k"}).integer == 0) fixture.runtime.sleep_for(1ms);
    b.ask(0, {"DEL", "k"});
    b.other(0, "2000");
    b.ask(1, {"DEL", "k"});
    b.ask(1, {"PUBLISH", kChannel, "0"});
    waiter.join();
    EXPECT_TRUE(granted);
    EXPECT_EQ(b.ask(0, {"HGET", "k", "other:1"}).text, "1");
    EXPECT_GT(b.pttl(0), 20'000);
  });
}

TEST_P(RedissonRedLockTest, UnlockTellsNothing) {
  run([](Fixture& fixture) {
    Party a(fixture);
    EXPECT_NO_THROW(a.lock->release());
    a.lock->lock();
    for (std::size_t number = 0; number < 3; ++number) a.ask(number, {"DEL", "k"});
    EXPECT_NO_THROW(a.lock->release());
    EXPECT_FALSE(a.lock->is_held_by_me());
  });
}

TEST_P(RedissonRedLockTest, AnInterruptIsOneMoreMemberThatFailed) {
  run([](Fixture& fixture) {
    Party a(fixture);
    a.other(0);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_TRUE(a.lock->try_lock_for(2s, stop.get_token()));
    a.lock->unlock();
    a.other(1);
    EXPECT_FALSE(a.lock->try_lock_for(300ms, stop.get_token())) << "and it is not thrown";
  });
}

TEST(RedissonServersTest, NonsenseIsRefused) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    EXPECT_THROW(RedissonServers({}, {}), std::invalid_argument);
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_THROW(RedissonServers({&client}, {.lease = 0ms}), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast::historic
