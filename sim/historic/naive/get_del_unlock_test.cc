// GET, compare, DEL: what it does, and the flaw for which it is kept.
#include "sim/historic/naive/get_del_unlock.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using testing::Relay;
using testing::Stand;
using LockPeer = Peer<GetDelUnlock>;

class GetDelUnlockTest : public PortsTest {};
HF_ON_ALL_PORTS(GetDelUnlockTest);

TEST_P(GetDelUnlockTest, LocksAndUnlocks) {
  run([](Stand& stand) {
    LockPeer a(stand), b(stand);
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"GET", "k"}).text, a.lock.acquisition());
    EXPECT_FALSE(b.lock.try_lock());
    b.lock.unlock();  // holds nothing: compares with nothing
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 1);
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

// Between GET and DEL the lease ends and somebody else is granted: the DEL removes his key.
TEST_P(GetDelUnlockTest, RemovesTheKeyOfSomebodyElse) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    LockPeer a(stand, relay), b(stand);
    a.lock.lock();
    relay.hold_request("\r\nDEL\r\n");
    Task thief = stand.runtime.spawn("client", [&] {
      relay.wait_held();
      b.ask({"DEL", "k"});  // the lease ends
      EXPECT_TRUE(b.lock.try_lock());
      relay.release_request();
    });
    a.lock.unlock();
    thief.join();
    EXPECT_EQ(b.ask({"EXISTS", "k"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast::historic
