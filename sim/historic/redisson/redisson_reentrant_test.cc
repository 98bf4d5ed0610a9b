// Redisson's reentrant lock: what it writes, byte for byte, and the flaws for which it is kept.
#include "sim/historic/redisson/redisson_reentrant.h"

#include <gtest/gtest.h>

#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class RedissonReentrantTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, RedissonReentrantTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

struct Peer {
  explicit Peer(Fixture& fixture, LockOptions options = {}) : Peer(fixture, fixture.options(), options) {}
  Peer(Fixture& fixture, redis::ClientOptions client_options, LockOptions options)
      : client(fixture.runtime, fixture.network, std::move(client_options)),
        redisson(std::make_shared<Redisson>(client, options)),
        lock(redisson, "k") {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::string count(const std::string& owner) { return ask({"HGET", "k", owner}).text; }
  std::int64_t pttl() { return ask({"PTTL", "k"}).integer; }
  redis::Client client;
  std::shared_ptr<Redisson> redisson;
  RedissonReentrant lock;
};

TEST_P(RedissonReentrantTest, WritesRedissonsRecord) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    a.lock.lock();
    const std::string owner = a.lock.acquisition();
    EXPECT_EQ(owner.substr(36), ":" + std::to_string(fixture.runtime.task_id()));
    EXPECT_EQ(a.ask({"TYPE", "k"}).text, "hash");
    EXPECT_EQ(a.ask({"HGETALL", "k"}).items.size(), 2u);
    EXPECT_EQ(a.count(owner), "1");
    EXPECT_GT(a.pttl(), 0);
    EXPECT_LE(a.pttl(), 30000);
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_EQ(a.count(owner), "2");
    EXPECT_EQ(a.lock.hold_count(), 2);
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_THROW(b.lock.release(), NotOwner);
    a.lock.unlock();
    EXPECT_EQ(a.count(owner), "1");
    EXPECT_FALSE(b.lock.try_lock());
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_THROW(a.lock.release(), NotOwner);
  });
}

// A record that Java wrote keeps us out; its message lets us in.
TEST_P(RedissonReentrantTest, WaitsForAReleaseByRedissonItself) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer java(fixture), b(fixture, {.observer = &observer});
    java.ask({"HSET", "k", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"});
    java.ask({"PEXPIRE", "k", "30000"});
    Task waiter = fixture.runtime.spawn("client", [&] {
      b.lock.lock();
      b.lock.unlock();
    });
    while (java.ask({"PUBSUB", "NUMSUB", "redisson_lock__channel:{k}"}).items[1].integer == 0) {
      fixture.runtime.sleep_for(1ms);
    }
    java.ask({"DEL", "k"});
    while (java.ask({"PUBLISH", "redisson_lock__channel:{k}", "0"}).integer == 1 && !waiter.finished()) {
      fixture.runtime.sleep_for(1ms);
    }
    waiter.join();
    EXPECT_EQ(observer.count(Kind::waiting), 1u);
    EXPECT_EQ(observer.count(Kind::acquired), 1u);
    EXPECT_EQ(observer.count(Kind::released), 1u);
  });
}

TEST_P(RedissonReentrantTest, PublishesZeroAtTheLastUnlock) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    std::atomic<int> messages = 0;
    std::atomic<bool> subscribed = false;
    std::string text;
    auto subscription = b.client.subscribe(
        "redisson_lock__channel:{k}",
        [&](std::string_view payload) {
          text = payload;
          ++messages;
        },
        [&] { subscribed = true; });
    while (!subscribed) fixture.runtime.sleep_for(1ms);
    a.lock.lock();
    a.lock.lock();
    a.lock.unlock();
    a.lock.unlock();
    while (messages == 0) fixture.runtime.sleep_for(1ms);
    EXPECT_EQ(messages, 1);
    EXPECT_EQ(text, "0");
    a.lock.lock();
    EXPECT_TRUE(b.lock.force_unlock());
    while (messages == 1) fixture.runtime.sleep_for(1ms);
    EXPECT_EQ(text, "0");
    EXPECT_FALSE(b.lock.force_unlock());
    EXPECT_THROW(a.lock.release(), NotOwner);
  });
}

TEST_P(RedissonReentrantTest, RenewsEveryThirdUnlessALeaseIsGiven) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {.lease = 300ms, .observer = &observer}), b(fixture);
    a.lock.lock();
    observer.wait_for(Kind::renewed, 4);
    EXPECT_FALSE(b.lock.try_lock());
    a.lock.unlock();
    EXPECT_FALSE(a.redisson->renewals().has_entry("k"));
    a.lock.lock_with_lease(50ms);
    EXPECT_FALSE(a.redisson->renewals().has_entry("k"));
    b.lock.lock();                        // when the lease is over
    EXPECT_TRUE(a.lock.is_held_by_me());  // nobody was told
    EXPECT_THROW(a.lock.release(), NotOwner);
    b.lock.unlock();
  });
}

TEST_P(RedissonReentrantTest, GivesUpAndCanBeInterrupted) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer});
    a.lock.lock();
    EXPECT_FALSE(b.lock.try_lock_for(50ms));
    const std::size_t waits = observer.count(Kind::waiting);  // none where the answer took 50 ms
    std::stop_source stop;
    Task stopper = fixture.runtime.spawn("client", [&] {
      observer.wait_for(Kind::waiting, waits + 1);
      stop.request_stop();
    });
    EXPECT_THROW(static_cast<void>(b.lock.try_lock_for(1h, stop.get_token())), Interrupted);
    stopper.join();
    a.lock.unlock();
  });
}

// The script of an acquire is sent again after its reply was lost, and counts twice.
TEST_P(RedissonReentrantTest, ALostReplyInflatesTheCount) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Peer a(fixture, fixture.options(link.endpoint()), {}), b(fixture);
    a.lock.lock();  // the server knows the scripts
    a.lock.unlock();
    link.lose_reply_to("\r\nk\r\n");
    a.lock.lock();
    const std::string owner = a.lock.acquisition();
    EXPECT_EQ(a.lock.hold_count(), 1);
    EXPECT_EQ(a.count(owner), "2");
    a.lock.unlock();
    EXPECT_EQ(b.count(owner), "1");  // nobody holds it, nobody gets it
    EXPECT_FALSE(b.lock.try_lock());
  });
}

// The inner unlock counts down twice, and the outer holder is inside without the lock.
TEST_P(RedissonReentrantTest, ALostReplyToTheInnerUnlockRemovesTheOuterHold) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Peer a(fixture, fixture.options(link.endpoint()), {}), b(fixture);
    a.lock.lock();
    a.lock.unlock();  // the server knows the scripts
    a.lock.lock();
    a.lock.lock();
    link.lose_reply_to("redisson_lock__channel");
    a.lock.unlock();
    EXPECT_EQ(a.lock.hold_count(), 1);
    EXPECT_TRUE(b.lock.try_lock());
    EXPECT_THROW(a.lock.release(), NotOwner);
    b.lock.unlock();
  });
}

// One renewal that finds the lock gone, and the next hold of that name is not renewed.
TEST_P(RedissonReentrantTest, AFailedRenewalPoisonsTheNextHold) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture, {.lease = 300ms, .observer = &observer}), b(fixture);
    Task victim = fixture.runtime.spawn("client", [&] {
      a.lock.lock();
      b.ask({"DEL", "k"});
      observer.wait_for(Kind::renew_failed);
    });  // the idiom `if (isHeldByCurrentThread()) unlock()` never unlocks here
    victim.join();
    EXPECT_TRUE(a.redisson->renewals().has_entry("k"));
    a.lock.lock();
    b.lock.lock();  // when the first lease is over: nobody renews it
    EXPECT_EQ(observer.count(Kind::renewed), 0u);
    EXPECT_TRUE(a.lock.is_held_by_me());
    b.lock.unlock();
  });
}

// Re-entry with a shorter lease shortens what the watchdog keeps alive.
TEST_P(RedissonReentrantTest, ReentryShortensTheLease) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    a.lock.lock();
    EXPECT_TRUE(a.lock.try_lock_with_lease(0ms, 50ms));
    EXPECT_LE(a.pttl(), 50);
    b.lock.lock();
    EXPECT_EQ(a.lock.hold_count(), 2);
    b.lock.unlock();
  });
}

// isHeldByCurrentThread() asks the server; is_held_by_me() cannot.
TEST_P(RedissonReentrantTest, TheServerIsAskedWhoHoldsIt) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    EXPECT_FALSE(a.lock.is_held_by_current_thread());
    a.lock.lock();
    EXPECT_TRUE(a.lock.is_held_by_current_thread());
    EXPECT_FALSE(b.lock.is_held_by_current_thread());
    b.ask({"DEL", "k"});
    EXPECT_TRUE(a.lock.is_held_by_me());
    EXPECT_FALSE(a.lock.is_held_by_current_thread());
    EXPECT_FALSE(a.lock.is_held_by_me());
  });
}

TEST_P(RedissonReentrantTest, AWrongTypeIsToldAtOnce) {
  run([](Fixture& fixture) {
    Peer a(fixture);
    a.ask({"SET", "k", "text"});
    EXPECT_THROW(a.lock.lock(), Rejected);
    EXPECT_EQ(a.lock.hold_count(), 0);
  });
}

}  // namespace
}  // namespace holdfast::historic
