// Fairness by a list: what it does, and the flaws for which it is kept.
#include "sim/historic/lock_interface/lock_interface_fair.h"

#include <vector>

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using Kind = LockEvent::Kind;
using LockPeer = Peer<LockInterfaceFair>;

class LockInterfaceFairTest : public PortsTest {};
HF_ON_ALL_PORTS(LockInterfaceFairTest);

TEST_P(LockInterfaceFairTest, FirstComeFirstServed) {
  run([](Fixture& fixture) {
    RecordingObserver first(fixture.runtime), second(fixture.runtime);
    LockPeer a(fixture), b(fixture, {.observer = &first}), c(fixture, {.observer = &second});
    a.lock.lock();
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    EXPECT_EQ(a.ask({"LLEN", "k:queue"}).integer, 0);
    Task one = fixture.runtime.spawn("client", [&] {
      b.lock.lock();
      EXPECT_EQ(second.count(Kind::acquired), 0u);
      b.lock.unlock();
    });
    first.wait_for(Kind::queued);
    Task two = fixture.runtime.spawn("client", [&] {
      c.lock.lock();
      EXPECT_EQ(first.count(Kind::acquired), 1u);
      c.lock.unlock();
    });
    second.wait_for(Kind::queued);
    EXPECT_EQ(a.ask({"LLEN", "k:queue"}).integer, 2);
    a.lock.unlock();
    one.join();
    two.join();
    EXPECT_EQ(a.ask({"EXISTS", "k", "k:queue"}).integer, 0);
  });
}

TEST_P(LockInterfaceFairTest, WhoGivesUpLeavesTheList) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
    a.lock.lock();
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_FALSE(b.lock.try_lock_for(120ms));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(b.lock.try_lock_until(kNever, stop.get_token())), Interrupted);
    EXPECT_EQ(a.ask({"LLEN", "k:queue"}).integer, 0);
    a.lock.unlock();
    EXPECT_TRUE(b.lock.try_lock());
  });
}

// The waiter's connection ends (so it would with the waiter): its place stays.
TEST_P(LockInterfaceFairTest, ADeadWaiterAtTheHeadLocksEverybodyOut) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link), b(fixture);
    link.lose_reply_to("\r\nLINDEX\r\n");
    EXPECT_THROW(a.lock.lock(), Unavailable);
    EXPECT_EQ(b.ask({"LLEN", "k:queue"}).integer, 1);
    EXPECT_EQ(b.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_FALSE(b.lock.try_lock_for(150ms));  // the lock is free
  });
}

// The holder's connection ends between SET and LPOP: the lease ends, its place does not.
TEST_P(LockInterfaceFairTest, AHolderThatDiesBeforeItLeavesTheListLocksEverybodyOut) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link), b(fixture);
    link.lose_reply_to("\r\nLPOP\r\n");
    link.hold_request("\r\nLPOP\r\n");
    Task holder = fixture.runtime.spawn("client", [&] { EXPECT_THROW(a.lock.lock(), Unavailable); });
    link.wait_held();
    b.ask({"DEL", "k"});  // the lease ends
    EXPECT_FALSE(b.lock.try_lock_for(150ms));
    EXPECT_EQ(b.ask({"EXISTS", "k"}).integer, 0);
    link.release_request();
    holder.join();
  });
}

}  // namespace
}  // namespace holdfast::historic
