// SETNX, then EXPIRE: what it does, and the flaws for which it is kept.
#include "sim/historic/naive/setnx_expire.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using LockPeer = Peer<SetnxExpire>;

class SetnxExpireTest : public PortsTest {};
HF_ON_ALL_PORTS(SetnxExpireTest);

TEST_P(SetnxExpireTest, LocksAndUnlocks) {
  run([](Fixture& fixture) {
    LockPeer a(fixture, {.lease = 2500ms}), b(fixture);
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    const std::int64_t left = a.ask({"PTTL", "k"}).integer;
    EXPECT_GT(left, 2500);
    EXPECT_LE(left, 3000);
    EXPECT_FALSE(b.lock.try_lock());
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

// The connection ends between the two commands (so it would with the client): a lock without a lease.
TEST_P(SetnxExpireTest, WhatFailsBetweenTheTwoCommandsLeavesTheLockForEver) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link), b(fixture);
    link.lose_reply_to("\r\nSETNX\r\n");
    EXPECT_THROW(static_cast<void>(a.lock.try_lock()), Unavailable);
    EXPECT_EQ(b.ask({"PTTL", "k"}).integer, -1);
    EXPECT_FALSE(b.lock.try_lock());
  });
}

TEST_P(SetnxExpireTest, UnlockRemovesWhateverIsThere) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
    a.lock.lock();
    b.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast::historic
