// The lock in Redisson's layout: byte for byte, beside a Java process, and after lost replies.
#include "lib/lock/redisson/redisson_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <regex>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class RedissonLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};
INSTANTIATE_TEST_SUITE_P(Ports, RedissonLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

struct Peer {
  Peer(Fixture& fixture, const LockOptions& options)
      : client(fixture.runtime, fixture.network, fixture.options()), locks(client, options) {}
  redis::Client client;
  RedissonLocks locks;
};

redis::Reply ask(redis::Client& client, std::initializer_list<std::string_view> command) {
  return client.call(command).reply;
}

TEST_P(RedissonLockTest, LayoutIsThatOfRedisson) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 20s});
    std::atomic<int> subscribed = 0, messages = 0;
    Parker& parker = fixture.runtime.parker();
    const auto subscription = peer.client.subscribe(
        "redisson_lock__channel:{stock:42}",
        [&](std::string_view payload) {
          EXPECT_EQ(payload, "0");
          ++messages;
          parker.unpark();
        },
        [&] { ++subscribed, parker.unpark(); });
    while (subscribed == 0) parker.park_until(kNever);

    const auto lock = peer.locks.obtain("stock:42");
    lock->lock();
    const std::string owner = lock->acquisition();
    const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:[0-9]+");
    EXPECT_TRUE(std::regex_match(owner, form)) << owner;
    EXPECT_EQ(ask(peer.client, {"TYPE", "stock:42"}).text, "hash");
    const redis::Reply record = ask(peer.client, {"HGETALL", "stock:42"});
    ASSERT_EQ(record.items.size(), 2u);
    EXPECT_EQ(record.items[0].text, owner);
    EXPECT_EQ(record.items[1].text, "1");
    const std::int64_t left = ask(peer.client, {"PTTL", "stock:42"}).integer;
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 20000);

    lock->unlock();
    EXPECT_EQ(ask(peer.client, {"EXISTS", "stock:42"}).integer, 0);
    while (messages == 0) parker.park_until(kNever);
  });
}

// The count of a latch of ours is a hash, too.
TEST_P(RedissonLockTest, ALatchIsNotForcedOpen) {
  run([](Fixture& fixture) {
    Peer peer(fixture, {.lease = 20s});
    ask(peer.client, {"HSET", "k", "left", "3"});
    EXPECT_THROW(static_cast<void>(peer.locks.obtain("k")->force_unlock()), Rejected);
    EXPECT_EQ(ask(peer.client, {"HGET", "k", "left"}).text, "3");
  });
}

TEST_P(RedissonLockTest, AHoldGoesToAnotherProcess) {
  run([](Fixture& fixture) {
    Peer a(fixture, {.lease = 20s}), b(fixture, {.lease = 600s});
    const auto gives = a.locks.obtain("k"), takes = b.locks.obtain("k");
    gives->lock();
    gives->lock();
    const std::string detached = gives->detach();
    EXPECT_TRUE(takes->adopt(detached));
    EXPECT_FALSE(gives->adopt(detached)) << "once only";
    const redis::Reply record = ask(a.client, {"HGETALL", "k"});
    ASSERT_EQ(record.items.size(), 2u);
    EXPECT_EQ(record.items[0].text, takes->acquisition());
    EXPECT_EQ(record.items[1].text, "1");
    EXPECT_GT(ask(a.client, {"PTTL", "k"}).integer, 500'000);
    takes->unlock();
    EXPECT_EQ(ask(a.client, {"EXISTS", "k"}).integer, 0);
    EXPECT_TRUE(gives->try_lock());
  });
}

// A Java process holds it and releases it as Redisson does.
TEST_P(RedissonLockTest, SharesALockWithRedisson) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer peer(fixture, {.observer = &observer});
    redis::Client java(fixture.runtime, fixture.network, fixture.options());
    ask(java, {"HSET", "k", "8743c9c0-0795-4907-87fd-6c719a6b4586:57", "2"});
    ask(java, {"PEXPIRE", "k", "60000"});
    const auto lock = peer.locks.obtain("k");
    EXPECT_FALSE(lock->try_lock());
    Task waiter = fixture.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    observer.wait_for(Kind::waiting);
    ask(java, {"DEL", "k"});
    ask(java, {"PUBLISH", "redisson_lock__channel:{k}", "0"});
    waiter.join();
  });
}

TEST_P(RedissonLockTest, RepliesThatWereLost) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    redis::Client straight(fixture.runtime, fixture.network, fixture.options());
    for (const redis::Script* script : {&kRedissonAcquire, &kRedissonRelease}) {
      straight.call({"SCRIPT", "LOAD", script->text});
    }
    redis::Client client(fixture.runtime, fixture.network, fixture.options(link.endpoint()));
    RedissonLocks locks(client, {.lease = 60s});
    link.lose_reply_to(std::string(kRedissonAcquire.sha1), 2);
    const auto lock = locks.obtain("k");
    lock->lock();
    EXPECT_EQ(ask(straight, {"HGET", "k", lock->acquisition()}).text, "1");
    link.lose_reply_to(std::string(kRedissonRelease.sha1));
    lock->unlock();
    EXPECT_EQ(ask(straight, {"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RedissonLockTest, HasNoTokens) {
  run([](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    EXPECT_THROW(RedissonLocks(client, {.fencing = true}), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast
