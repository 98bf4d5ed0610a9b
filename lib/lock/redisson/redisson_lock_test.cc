// The lock in Redisson's layout: byte for byte, beside a Java process, and after lost replies.
#include "lib/lock/redisson/redisson_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <regex>

#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/relay.h"
#include "lib/testing/stand.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Stand;
using testing::Where;
using testing::Witness;
using Kind = LockEvent::Kind;

class RedissonLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Stand&)>& body) { testing::on_stand(GetParam(), body); }
};
INSTANTIATE_TEST_SUITE_P(Ports, RedissonLockTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

struct Peer {
  Peer(Stand& stand, const LockOptions& options)
      : client(stand.runtime, stand.network, stand.options()), locks(client, options) {}
  redis::Client client;
  RedissonLocks locks;
};

redis::Reply ask(redis::Client& client, std::initializer_list<std::string_view> command) {
  return client.call(command).reply;
}

TEST_P(RedissonLockTest, LayoutIsThatOfRedisson) {
  run([](Stand& stand) {
    Peer peer(stand, {.lease = 20s});
    std::atomic<int> subscribed = 0, messages = 0;
    Parker& parker = stand.runtime.parker();
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
    const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:[0-9]+");
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

// A Java process holds it and releases it as Redisson does.
TEST_P(RedissonLockTest, SharesALockWithRedisson) {
  run([](Stand& stand) {
    Witness witness(stand.runtime);
    Peer peer(stand, {.observer = &witness});
    redis::Client java(stand.runtime, stand.network, stand.options());
    ask(java, {"HSET", "k", "8743c9c0-0795-4907-87fd-6c719a6b4586:57", "2"});
    ask(java, {"PEXPIRE", "k", "60000"});
    const auto lock = peer.locks.obtain("k");
    EXPECT_FALSE(lock->try_lock());
    Task waiter = stand.runtime.spawn("client", [&] {
      lock->lock();
      lock->unlock();
    });
    witness.wait_for(Kind::waiting);
    ask(java, {"DEL", "k"});
    ask(java, {"PUBLISH", "redisson_lock__channel:{k}", "0"});
    waiter.join();
  });
}

TEST_P(RedissonLockTest, RepliesThatWereLost) {
  run([](Stand& stand) {
    testing::Relay relay(stand.runtime, stand.network, stand.redis);
    redis::Client straight(stand.runtime, stand.network, stand.options());
    for (const redis::Script* script : {&kRedissonAcquire, &kRedissonRelease}) {
      straight.call({"SCRIPT", "LOAD", script->text});
    }
    redis::Client client(stand.runtime, stand.network, stand.options(relay.endpoint()));
    RedissonLocks locks(client, {.lease = 60s});
    relay.lose_reply_to(std::string(kRedissonAcquire.sha1), 2);
    const auto lock = locks.obtain("k");
    lock->lock();
    EXPECT_EQ(ask(straight, {"HGET", "k", lock->acquisition()}).text, "1");
    relay.lose_reply_to(std::string(kRedissonRelease.sha1));
    lock->unlock();
    EXPECT_EQ(ask(straight, {"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RedissonLockTest, HasNoTokens) {
  run([](Stand& stand) {
    redis::Client client(stand.runtime, stand.network, stand.options());
    EXPECT_THROW(RedissonLocks(client, {.fencing = true}), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast
