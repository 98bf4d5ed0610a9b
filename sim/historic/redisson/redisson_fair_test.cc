// Redisson's fair lock: what it writes, byte for byte, and the flaws for which it is kept.
#include "sim/historic/redisson/redisson_fair.h"

#include <gtest/gtest.h>

#include <atomic>

#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;
using Reading = RedissonFair::Reading;

constexpr std::string_view kQueue = "redisson_lock_queue:{k}", kTimeouts = "redisson_lock_timeout:{k}";

class RedissonFairTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, RedissonFairTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

struct Peer {
  explicit Peer(Fixture& fixture, LockOptions options = {}, Reading reading = Reading::source)
      : runtime(fixture.runtime),
        client(fixture.runtime, fixture.network, fixture.options()),
        redisson(std::make_shared<Redisson>(client, options)),
        lock(redisson, "k", reading) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::int64_t now_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(runtime.wall_now().time_since_epoch())
        .count();
  }
  // How long `owner` has until it is dropped, in s.
  double patience(const std::string& owner) {
    return (std::stod(ask({"ZSCORE", kTimeouts, owner}).text) - static_cast<double>(now_ms())) / 1000;
  }
  // A waiter that died in the queue, with so many ms to live.
  void dead_waiter(const std::string& owner, std::int64_t left_ms) {
    ask({"RPUSH", kQueue, owner});
    ask({"ZADD", kTimeouts, std::to_string(now_ms() + left_ms), owner});
  }
  Runtime& runtime;
  redis::Client client;
  std::shared_ptr<Redisson> redisson;
  RedissonFair lock;
};

// Locks and unlocks on a task of its own.
Task go(Fixture& fixture, Peer& peer, std::atomic<int>* order = nullptr, std::atomic<int>* place = nullptr) {
  return fixture.runtime.spawn("client", [&peer, order, place] {
    peer.lock.lock();
    if (order != nullptr) *place = ++*order;
    peer.lock.unlock();
  });
}

TEST_P(RedissonFairTest, WritesRedissonsRecords) {
  run([](Fixture& fixture) {
    RecordingObserver second(fixture.runtime), third(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &second}), c(fixture, {.observer = &third});
    a.lock.lock();
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"HGET", "k", a.lock.acquisition()}).text, "2");
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_EQ(a.ask({"EXISTS", kQueue}).integer, 0);  // who does not wait does not queue
    std::atomic<int> order = 0, place_b = 0, place_c = 0;
    Task waiting_b = go(fixture, b, &order, &place_b);
    second.wait_for(Kind::queued);
    const std::string owner_b = a.ask({"LINDEX", kQueue, "0"}).text;
    EXPECT_NEAR(a.patience(owner_b), 330, 5);  // lease and 300 s
    Task waiting_c = go(fixture, c, &order, &place_c);
    third.wait_for(Kind::queued);
    const std::string owner_c = a.ask({"LINDEX", kQueue, "1"}).text;
    EXPECT_EQ(owner_c.substr(0, 37), c.redisson->owner(7).substr(0, 37));
    EXPECT_NEAR(a.patience(owner_c), 630, 5);
    EXPECT_EQ(a.ask({"LLEN", kQueue}).integer, 2);
    EXPECT_EQ(a.ask({"ZCARD", kTimeouts}).integer, 2);
    const std::string channel = "redisson_lock__channel:{k}:" + owner_b;
    while (a.ask({"PUBSUB", "NUMSUB", channel}).items[1].integer == 0) fixture.runtime.sleep_for(1ms);
    a.lock.unlock();
    a.lock.unlock();
    waiting_b.join();
    waiting_c.join();
    EXPECT_EQ(place_b, 1);
    EXPECT_EQ(place_c, 2);
    EXPECT_EQ(second.count(Kind::queued), 1u);
    EXPECT_EQ(a.ask({"EXISTS", "k", kQueue, kTimeouts}).integer, 0);
  });
}

TEST_P(RedissonFairTest, WhoGivesUpLeavesTheQueue) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    a.lock.lock();
    EXPECT_FALSE(b.lock.try_lock_for(30ms));
    EXPECT_EQ(a.ask({"EXISTS", kQueue, kTimeouts}).integer, 0);
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(b.lock.try_lock_for(1h, stop.get_token())), Interrupted);
    EXPECT_EQ(a.ask({"LLEN", kQueue}).integer, 1);
    a.lock.unlock();
    EXPECT_FALSE(a.lock.try_lock());  // the lock is free
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

// A waiter that died is dropped when its time is over, and not before.
TEST_P(RedissonFairTest, ADeadWaiterBlocksAFreeLock) {
  run([](Fixture& fixture) {
    Peer a(fixture);
    a.dead_waiter("dead:1", 300);
    EXPECT_FALSE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    fixture.runtime.sleep_for(350ms);
    EXPECT_TRUE(a.lock.try_lock());
    a.lock.unlock();
  });
}

// A head without a score.
TEST_P(RedissonFairTest, AMissingScoreBreaksEverything) {
  run([](Fixture& fixture) {
    Peer a(fixture);
    a.ask({"RPUSH", kQueue, "dead:1"});
    EXPECT_THROW(static_cast<void>(a.lock.try_lock()), Rejected);
    EXPECT_THROW(a.lock.lock(), Rejected);
  });
}

// The lock is gone, its unlock succeeds.
TEST_P(RedissonFairTest, UnlockOfAVanishedLockSucceeds) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    a.lock.lock();
    b.ask({"DEL", "k"});
    EXPECT_NO_THROW(a.lock.release());
    EXPECT_NO_THROW(b.lock.release());  // of somebody who never had it
  });
}

TEST_P(RedissonFairTest, ForceUnlockWakesTheHead) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer});
    a.lock.lock();
    Task waiter = go(fixture, b);
    observer.wait_for(Kind::waiting);
    while (a.ask({"PUBSUB", "CHANNELS", "*"}).items.empty()) fixture.runtime.sleep_for(1ms);
    EXPECT_TRUE(a.lock.force_unlock());
    waiter.join();
    EXPECT_FALSE(a.lock.force_unlock());
  });
}

// The time to wait, as told at a later look, is below zero when the first lease is over.
TEST_P(RedissonFairTest, ANegativeTimeToWaitIsWaitForEver) {
  run([](Fixture& fixture) {
    RecordingObserver holder(fixture.runtime), observer(fixture.runtime);
    Peer a(fixture, {.lease = 150ms, .observer = &holder}), b(fixture, {.observer = &observer}), c(fixture);
    a.lock.lock();
    Task waiter = go(fixture, b);
    observer.wait_for(Kind::waiting);
    holder.wait_for(Kind::renewed, 8);                 // 400 ms: b has looked again
    a.redisson->renewals().cancel("k", std::nullopt);  // the holder dies
    fixture.runtime.sleep_for(400ms);
    EXPECT_EQ(c.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_EQ(observer.count(Kind::acquired), 0u);  // though it is free, and b is the head
    c.lock.unlock();                                // a message, though the lock is gone
    waiter.join();
  });
}

// A client whose clock is ahead drops everybody.
TEST_P(RedissonFairTest, AClockThatIsAheadDropsTheWaiters) {
  run([](Fixture& fixture) {
    if (fixture.where != Where::embedded) GTEST_SKIP() << "needs a clock that can be stepped";
    Peer a(fixture);
    a.dead_waiter("alive:1", 300'000);
    EXPECT_FALSE(a.lock.try_lock());
    fixture.step_wall(6min);
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"EXISTS", kQueue, kTimeouts}).integer, 0);
    a.lock.unlock();
  });
}

// tryLock(30, SECONDS) queues for 30 ms.
TEST(RedissonFairReadings, LosesTheUnitOfAWait) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {  // where no time passes on the way
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer});
    a.lock.lock();
    const auto patience_of = [&](const std::function<void()>& call) {
      const std::size_t before = observer.count(Kind::queued);
      Task waiter = fixture.runtime.spawn("client", call);
      observer.wait_for(Kind::queued, before + 1);
      const double patience = a.patience(a.ask({"LINDEX", kQueue, "0"}).text);
      a.lock.unlock();
      waiter.join();
      a.lock.lock();
      return patience;
    };
    const auto give_back = [&](bool granted) {
      EXPECT_TRUE(granted);
      if (granted) b.lock.unlock();
    };
    EXPECT_NEAR(patience_of([&] { give_back(b.lock.try_lock_for(30s)); }), 30, 2);
    EXPECT_NEAR(patience_of([&] { give_back(b.lock.try_lock_with_lease(30s, 5s)); }), 60, 2);
    a.lock.unlock();
  });
}

// A dead head goes after 300 s and a lease; as described it never goes.
TEST(RedissonFairReadings, ADeadHeadIsDroppedLateOrNever) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    for (const Reading reading : {Reading::source, Reading::as_described}) {
      Peer a(fixture, {}, reading), b(fixture, {}, reading), c(fixture, {}, reading);
      a.lock.lock();
      std::stop_source stop;
      stop.request_stop();
      EXPECT_THROW(static_cast<void>(b.lock.try_lock_for(1h, stop.get_token())), Interrupted);  // and dies
      a.lock.unlock();
      EXPECT_FALSE(c.lock.try_lock());
      fixture.runtime.sleep_for(reading == Reading::source ? 5min + 31s : 24h);
      EXPECT_EQ(c.lock.try_lock(), reading == Reading::source);
      a.ask({"FLUSHALL"});
    }
  });
}

TEST(RedissonFairReadings, AsDescribedScoresAreTwiceTheTime) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {}, Reading::as_described), b(fixture, {.observer = &observer}, Reading::as_described);
    a.lock.lock();
    Task waiter = go(fixture, b);
    observer.wait_for(Kind::queued);
    const double score = std::stod(a.ask({"ZRANGE", kTimeouts, "0", "-1", "WITHSCORES"}).items[1].text);
    EXPECT_NEAR(score - 2 * static_cast<double>(a.now_ms()), 35'000, 1000);  // lease + 5000
    while (a.ask({"PUBSUB", "CHANNELS", "*"}).items.empty()) fixture.runtime.sleep_for(1ms);
    a.lock.unlock();
    waiter.join();
  });
}

}  // namespace
}  // namespace holdfast::historic
