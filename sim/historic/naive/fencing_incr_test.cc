// Tokens from a counter in the same Redis: what it does, and the flaws for which it is kept.
#include "sim/historic/naive/fencing_incr.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using LockPeer = Peer<FencingIncr>;

class FencingIncrTest : public PortsTest {};
HF_ON_ALL_PORTS(FencingIncrTest);

TEST_P(FencingIncrTest, TokensRise) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
    EXPECT_FALSE(a.lock.token());
    a.lock.lock();
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    EXPECT_EQ(a.ask({"GET", "k:fencing"}).text, "1");
    EXPECT_EQ(a.lock.token(), 1u);
    EXPECT_FALSE(b.lock.try_lock());
    a.lock.unlock();
    EXPECT_FALSE(a.lock.token());
    b.lock.lock();
    EXPECT_EQ(b.lock.token(), 2u);
    b.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

// What a failover to a replica that lags, or a restart without persistence, does.
TEST_P(FencingIncrTest, TokensRepeatWhenRedisForgets) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
    a.lock.lock();
    a.ask({"FLUSHALL"});
    b.lock.lock();
    EXPECT_EQ(a.lock.token(), b.lock.token());
  });
}

// A holder whose INCR comes after its lease has a greater token than its successor.
TEST_P(FencingIncrTest, ALateHolderGetsTheGreaterToken) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link), b(fixture);
    link.hold_request("\r\nINCR\r\n");
    Task successor = fixture.runtime.spawn("client", [&] {
      link.wait_held();
      b.ask({"DEL", "k"});  // a's lease ends
      b.lock.lock();
      EXPECT_EQ(b.lock.token(), 1u);
      link.release_request();
    });
    a.lock.lock();
    successor.join();
    EXPECT_EQ(a.lock.token(), 2u);
  });
}

// The INCR fails: no hold, and yet a lock.
TEST_P(FencingIncrTest, WhatFailsBetweenTheTwoCommandsLeavesTheLock) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link), b(fixture);
    link.lose_reply_to("\r\nINCR\r\n");
    EXPECT_THROW(static_cast<void>(a.lock.try_lock()), Unavailable);
    EXPECT_FALSE(a.lock.is_held_by_me());
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_GT(b.ask({"PTTL", "k"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast::historic
