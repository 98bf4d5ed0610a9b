// The hand-written lock: what it does, and the flaws for which it is kept.
#include "sim/historic/lock_interface/lock_interface.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using Kind = LockEvent::Kind;
using LockPeer = Peer<LockInterface>;

class LockInterfaceTest : public PortsTest {};
HF_ON_ALL_PORTS(LockInterfaceTest);

TEST_P(LockInterfaceTest, LocksAndUnlocks) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_TRUE(a.lock.is_held_by_me());
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    const std::int64_t left = a.ask({"PTTL", "k"}).integer;
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 30000);
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_FALSE(b.lock.try_lock_for(150ms));
    EXPECT_FALSE(a.lock.try_lock());  // not reentrant
    EXPECT_FALSE(a.lock.valid_until());
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_TRUE(b.lock.try_lock());
    b.lock.unlock();
  });
}

TEST_P(LockInterfaceTest, AWaitCanBeStopped) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
    a.lock.lock();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(b.lock.try_lock_until(kNever, stop.get_token())), Interrupted);
    EXPECT_FALSE(b.lock.is_held_by_me());
  });
}

// A release is noticed at the next poll only.
TEST_P(LockInterfaceTest, Polls) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    LockPeer a(fixture), b(fixture, {.observer = &observer});
    a.lock.lock();
    const MonotonicTime start = fixture.runtime.now();
    Task waiter = fixture.runtime.spawn("client", [&] {
      b.lock.lock();
      b.lock.unlock();
    });
    observer.wait_for(Kind::waiting);
    a.lock.unlock();
    waiter.join();
    EXPECT_GE(fixture.runtime.now() - start, 100ms);
  });
}

TEST_P(LockInterfaceTest, IsNeitherRenewedNorToldOfItsEnd) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    LockPeer a(fixture, {.lease = 50ms, .observer = &observer}), b(fixture);
    a.lock.lock();
    b.lock.lock();  // when a's lease is over
    EXPECT_TRUE(a.lock.is_held_by_me());
    a.lock.unlock();  // not ours any more; no error, and the other's key stays
    EXPECT_EQ(observer.count(Kind::lost), 0u);
    EXPECT_EQ(b.ask({"GET", "k"}).text, b.lock.acquisition());
    b.lock.unlock();
  });
}

TEST_P(LockInterfaceTest, UnlockByAnybodyIsNoError) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
    a.lock.lock();
    b.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 1);
    a.lock.unlock();
  });
}

// The thread forgets its UUID behind the script, not in a `finally`: a second unlock() deletes.
TEST_P(LockInterfaceTest, AnUnlockThatFailedCanBeCalledAgain) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link);
    a.lock.lock();
    a.lock.unlock();  // the server knows the script
    a.lock.lock();
    const std::string uuid = a.lock.acquisition();
    link.lose_request_with("\r\nEVALSHA\r\n", 100);
    EXPECT_THROW(a.lock.release(), Unavailable);
    link.lose_request_with("\r\nEVALSHA\r\n", 0);
    EXPECT_EQ(a.lock.acquisition(), uuid);
    EXPECT_EQ(a.ask({"GET", "k"}).text, uuid);
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0) << "the second unlock() deletes";
    EXPECT_FALSE(a.lock.is_held_by_me());
  });
}

// The reply to the SET is lost: its own client is locked out until the lease ends.
TEST_P(LockInterfaceTest, LocksItselfOutWhenAReplyIsLost) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link);
    link.lose_reply_to("\r\nSET\r\n");
    EXPECT_THROW(static_cast<void>(a.lock.try_lock()), Unavailable);
    EXPECT_FALSE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 1);
  });
}

}  // namespace
}  // namespace holdfast::historic
