// Renewal at intervals: what it does, and the flaws for which it is kept.
#include "sim/historic/lock_interface/lock_interface_watchdog.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using Kind = LockEvent::Kind;
using LockPeer = Peer<LockInterfaceWatchdog>;

class LockInterfaceWatchdogTest : public PortsTest {};
HF_ON_ALL_PORTS(LockInterfaceWatchdogTest);

TEST_P(LockInterfaceWatchdogTest, RenewsUntilUnlock) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    LockPeer a(fixture, {.lease = 600ms, .observer = &observer}), b(fixture);
    a.lock.lock();
    observer.wait_for(Kind::renewed, 4);
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    EXPECT_FALSE(b.lock.try_lock());
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    const std::size_t renewed = observer.count(Kind::renewing);
    fixture.runtime.sleep_for(450ms);
    EXPECT_EQ(observer.count(Kind::renewing), renewed);
  });
}

// One failure, and it is never renewed again.
TEST_P(LockInterfaceWatchdogTest, EndsAtItsFirstError) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    RecordingObserver observer(fixture.runtime);
    LockPeer a(fixture, link, {.lease = 300ms, .observer = &observer}), b(fixture);
    link.lose_reply_to("\r\nPEXPIRE\r\n");
    a.lock.lock();
    b.lock.lock();  // after a's lease
    EXPECT_TRUE(a.lock.is_held_by_me());
    EXPECT_EQ(observer.count(Kind::renew_failed), 1u);
    EXPECT_EQ(observer.count(Kind::renewed), 0u);
    EXPECT_EQ(observer.count(Kind::lost), 0u);
  });
}

TEST_P(LockInterfaceWatchdogTest, RenewsWhoeverHasTheKey) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    LockPeer a(fixture, {.lease = 900ms, .observer = &observer});
    a.lock.lock();
    a.ask({"SET", "k", "a stranger", "PX", "60000"});
    observer.wait_for(Kind::renewed);
    EXPECT_LE(a.ask({"PTTL", "k"}).integer, 900);  // shortened, this time
    a.lock.unlock();
  });
}

TEST_P(LockInterfaceWatchdogTest, WhoLocksTwiceWaitsForItself) {
  run([](Fixture& fixture) {
    LockPeer a(fixture, {.lease = 150ms});
    a.lock.lock();
    EXPECT_FALSE(a.lock.try_lock_for(700ms));  // several leases long
    a.lock.unlock();
    EXPECT_TRUE(a.lock.try_lock());
  });
}

}  // namespace
}  // namespace holdfast::historic
