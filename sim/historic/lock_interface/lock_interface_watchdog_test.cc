// A watchdog that checks whether the lock is held: the two readings of the suggestion, and their flaws.
#include "sim/historic/lock_interface/lock_interface_watchdog.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using Kind = LockEvent::Kind;
using BlindPeer = Peer<LockInterfaceWatchdogBlind>;
using ThreadLocalPeer = Peer<LockInterfaceWatchdogThreadLocal>;

class LockInterfaceWatchdogTest : public PortsTest {};
HF_ON_ALL_PORTS(LockInterfaceWatchdogTest);

TEST_P(LockInterfaceWatchdogTest, BlindRenewsUntilUnlock) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    BlindPeer a(fixture, {.lease = fixture.lease(600ms), .observer = &observer}), b(fixture);
    a.lock.lock();
    observer.wait_for(Kind::renewed, 4);
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    EXPECT_FALSE(b.lock.try_lock());
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    const std::size_t renewed = observer.count(Kind::renewing);
    fixture.runtime.sleep_for(fixture.lease(450ms));
    EXPECT_EQ(observer.count(Kind::renewing), renewed);
  });
}

// The text does not say that an error ends it.
TEST_P(LockInterfaceWatchdogTest, BlindGoesOnAfterAnError) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    RecordingObserver observer(fixture.runtime);
    BlindPeer a(fixture, link, {.lease = fixture.lease(900ms), .observer = &observer}), b(fixture);
    link.lose_request_with("\r\nPEXPIRE\r\n");
    a.lock.lock();
    observer.wait_for(Kind::renew_failed);
    observer.wait_for(Kind::renewed, 2);
    EXPECT_EQ(observer.count(Kind::renew_failed), 1u);
    EXPECT_FALSE(b.lock.try_lock());
    a.lock.unlock();
  });
}

TEST_P(LockInterfaceWatchdogTest, BlindRenewsWhoeverHasTheKey) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    BlindPeer a(fixture, {.lease = 900ms, .observer = &observer});
    a.lock.lock();
    a.ask({"SET", "k", "a stranger", "PX", "60000"});
    observer.wait_for(Kind::renewed);
    EXPECT_LE(a.ask({"PTTL", "k"}).integer, 900);  // shortened, this time
    a.lock.unlock();
  });
}

TEST_P(LockInterfaceWatchdogTest, WhoLocksTwiceWaitsForItsOwnBlindWatchdog) {
  run([](Fixture& fixture) {
    BlindPeer a(fixture, {.lease = fixture.lease(150ms)});
    a.lock.lock();
    EXPECT_FALSE(a.lock.try_lock_for(fixture.lease(700ms)));  // several leases long
    a.lock.unlock();
    EXPECT_TRUE(a.lock.try_lock());
  });
}

// It looks, and asks its own thread whose lock it is.
TEST_P(LockInterfaceWatchdogTest, ThreadLocalLooksAndNeverRenews) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    RecordingObserver observer(fixture.runtime);
    ThreadLocalPeer a(fixture, link, {.lease = 300ms, .observer = &observer}), b(fixture);
    link.count("\r\nGET\r\n");
    a.lock.lock();
    observer.wait_for(Kind::renewing, 2);
    b.lock.lock();  // when a's lease is over
    EXPECT_TRUE(a.lock.is_held_by_me());
    EXPECT_EQ(observer.count(Kind::renewed), 0u);
    EXPECT_EQ(observer.count(Kind::renew_failed), 0u);
    EXPECT_GE(link.counted(), 1);
    a.lock.unlock();
    EXPECT_EQ(b.ask({"GET", "k"}).text, b.lock.acquisition());
  });
}

}  // namespace
}  // namespace holdfast::historic
