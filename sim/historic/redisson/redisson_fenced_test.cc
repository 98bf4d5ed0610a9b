// Redisson's fenced lock: what it writes, and the flaws for which it is kept.
#include "sim/historic/redisson/redisson_fenced.h"

#include <gtest/gtest.h>

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;

struct One {
  explicit One(Fixture& fixture, LockOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options()),
        redisson(std::make_shared<Redisson>(client, options, RedissonRenewals::Persistence::goes_on)),
        lock(redisson, std::make_shared<ConnectedReplicas>(redisson), "k") {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  redis::Client client;
  std::shared_ptr<Redisson> redisson;
  RedissonFenced lock;
};

class RedissonFencedTest : public PortsTest {};
HF_ON_ALL_PORTS(RedissonFencedTest);

TEST_P(RedissonFencedTest, CountsItsGrants) {
  run([](Fixture& fixture) {
    One a(fixture), b(fixture);
    EXPECT_FALSE(a.lock.token());
    a.lock.lock();
    EXPECT_EQ(a.ask({"HGET", "k", a.lock.acquisition()}).text, "1");
    EXPECT_EQ(a.ask({"GET", "redisson_lock_token:{k}"}).text, "1");
    EXPECT_EQ(a.ask({"PTTL", "redisson_lock_token:{k}"}).integer, -1);
    EXPECT_EQ(a.lock.token(), 1u);
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_EQ(a.lock.token(), 1u);  // who is refused counts nothing
    a.lock.unlock();
    b.lock.lock();
    EXPECT_EQ(b.lock.token(), 2u);
    b.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

TEST_P(RedissonFencedTest, AReentryMakesTheOuterTokenOld) {
  run([](Fixture& fixture) {
    One a(fixture);
    a.lock.lock();
    EXPECT_EQ(a.lock.token(), 1u);
    a.lock.lock();
    EXPECT_EQ(a.lock.token(), 2u);
    a.lock.unlock();
    EXPECT_EQ(a.lock.token(), 2u);
    a.lock.unlock();
  });
}

TEST_P(RedissonFencedTest, WhoAsksLateIsGivenTheTokenOfItsSuccessor) {
  run([](Fixture& fixture) {
    One a(fixture), b(fixture);
    a.lock.lock();
    a.ask({"DEL", "k"});  // its lease is over
    b.lock.lock();
    EXPECT_EQ(b.lock.token(), 2u);
    EXPECT_EQ(a.lock.token(), 2u);
    b.lock.unlock();
  });
}

// -1 is both: granted, and "has no end".
TEST_P(RedissonFencedTest, ARecordWithoutAnEndIsGrantedToEverybody) {
  run([](Fixture& fixture) {
    One a(fixture), b(fixture);
    a.lock.lock();
    a.ask({"PERSIST", "k"});
    EXPECT_TRUE(b.lock.try_lock());
    EXPECT_TRUE(a.lock.is_held_by_me());
    EXPECT_TRUE(b.lock.is_held_by_me());
    EXPECT_EQ(a.ask({"HLEN", "k"}).integer, 1);  // the server knows of one
    a.lock.unlock();
  });
}

}  // namespace
}  // namespace holdfast::historic
