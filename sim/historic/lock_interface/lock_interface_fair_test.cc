// Fairness by a list: what it does, and the flaws for which it is kept.
#include "sim/historic/lock_interface/lock_interface_fair.h"

#include <vector>

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Relay;
using testing::Stand;
using testing::Witness;
using Kind = LockEvent::Kind;
using LockPeer = Peer<LockInterfaceFair>;

class LockInterfaceFairTest : public PortsTest {};
HF_ON_ALL_PORTS(LockInterfaceFairTest);

TEST_P(LockInterfaceFairTest, FirstComeFirstServed) {
  run([](Stand& stand) {
    Witness first(stand.runtime), second(stand.runtime);
    LockPeer a(stand), b(stand, {.observer = &first}), c(stand, {.observer = &second});
    a.lock.lock();
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    EXPECT_EQ(a.ask({"LLEN", "k:queue"}).integer, 0);
    Task one = stand.runtime.spawn("client", [&] {
      b.lock.lock();
      EXPECT_EQ(second.count(Kind::acquired), 0u);
      b.lock.unlock();
    });
    first.wait_for(Kind::queued);
    Task two = stand.runtime.spawn("client", [&] {
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
  run([](Stand& stand) {
    LockPeer a(stand), b(stand);
    a.lock.lock();
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_FALSE(b.lock.try_lock_for(120ms));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(b.lock.try_lock_until(kNever, stop.get_token()), Interrupted);
    EXPECT_EQ(a.ask({"LLEN", "k:queue"}).integer, 0);
    a.lock.unlock();
    EXPECT_TRUE(b.lock.try_lock());
  });
}

// The waiter's connection ends (so it would with the waiter): its place stays.
TEST_P(LockInterfaceFairTest, ADeadWaiterAtTheHeadLocksEverybodyOut) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    LockPeer a(stand, relay), b(stand);
    relay.lose_reply_to("\r\nLINDEX\r\n");
    EXPECT_THROW(a.lock.lock(), Unavailable);
    EXPECT_EQ(b.ask({"LLEN", "k:queue"}).integer, 1);
    EXPECT_EQ(b.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_FALSE(b.lock.try_lock_for(150ms));  // the lock is free
  });
}

// The holder's connection ends between SET and LPOP: the lease ends, its place does not.
TEST_P(LockInterfaceFairTest, AHolderThatDiesBeforeItLeavesTheListLocksEverybodyOut) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    LockPeer a(stand, relay), b(stand);
    relay.lose_reply_to("\r\nLPOP\r\n");
    relay.hold_request("\r\nLPOP\r\n");
    Task holder = stand.runtime.spawn("client", [&] { EXPECT_THROW(a.lock.lock(), Unavailable); });
    relay.wait_held();
    b.ask({"DEL", "k"});  // the lease ends
    EXPECT_FALSE(b.lock.try_lock_for(150ms));
    EXPECT_EQ(b.ask({"EXISTS", "k"}).integer, 0);
    relay.release_request();
    holder.join();
  });
}

}  // namespace
}  // namespace holdfast::historic
