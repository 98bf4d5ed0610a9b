// GET, compare, DEL: what it does, and the flaw for which it is kept.
#include "sim/historic/naive/get_del_unlock.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using testing::FaultyLink;
using testing::Fixture;
using LockPeer = Peer<GetDelUnlock>;

class GetDelUnlockTest : public PortsTest {};
HF_ON_ALL_PORTS(GetDelUnlockTest);

TEST_P(GetDelUnlockTest, LocksAndUnlocks) {
  run([](Fixture& fixture) {
    LockPeer a(fixture), b(fixture);
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
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    LockPeer a(fixture, link), b(fixture);
    a.lock.lock();
    link.hold_request("\r\nDEL\r\n");
    Task thief = fixture.runtime.spawn("client", [&] {
      link.wait_held();
      b.ask({"DEL", "k"});  // the lease ends
      EXPECT_TRUE(b.lock.try_lock());
      link.release_request();
    });
    a.lock.unlock();
    thief.join();
    EXPECT_EQ(b.ask({"EXISTS", "k"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast::historic
