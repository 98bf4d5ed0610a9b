// The hand-written lock: what it does, and the flaws for which it is kept.
#include "lib/historic/lock_interface.h"

#include <gtest/gtest.h>

#include "lib/lock/reentrant_scripts.h"
#include "lib/lock/testing/relay.h"
#include "lib/lock/testing/stand.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Stand;
using testing::Where;
using testing::Witness;
using Unlock = LockInterface::Unlock;
using Kind = LockEvent::Kind;

class LockInterfaceTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Stand&)>& body) { testing::on_stand(GetParam(), body); }
};

INSTANTIATE_TEST_SUITE_P(Ports, LockInterfaceTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

struct Peer {
  explicit Peer(Stand& stand, LockOptions options = {}, Unlock unlock = Unlock::compare_and_delete)
      : client(stand.runtime, stand.network, stand.options()), lock(client, options, "k", unlock) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  redis::Client client;
  LockInterface lock;
};

TEST_P(LockInterfaceTest, LocksAndUnlocks) {
  run([](Stand& stand) {
    for (const Unlock unlock : {Unlock::compare_and_delete, Unlock::get_then_del}) {
      Peer a(stand, {}, unlock), b(stand, {}, unlock);
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
    }
  });
}

// A release is noticed at the next poll only.
TEST_P(LockInterfaceTest, Polls) {
  run([](Stand& stand) {
    Witness witness(stand.runtime);
    Peer a(stand), b(stand, {.observer = &witness});
    a.lock.lock();
    const MonotonicTime start = stand.runtime.now();
    Task waiter = stand.runtime.spawn("client", [&] {
      b.lock.lock();
      b.lock.unlock();
    });
    witness.wait_for(Kind::waiting);
    a.lock.unlock();
    waiter.join();
    EXPECT_GE(stand.runtime.now() - start, 100ms);
  });
}

TEST_P(LockInterfaceTest, IsNeitherRenewedNorToldOfItsEnd) {
  run([](Stand& stand) {
    Witness witness(stand.runtime);
    Peer a(stand, {.lease = 50ms, .observer = &witness}), b(stand);
    a.lock.lock();
    b.lock.lock();  // when a's lease is over
    EXPECT_TRUE(a.lock.is_held_by_me());
    a.lock.unlock();  // not ours any more; no error, and the other's key stays
    EXPECT_EQ(witness.count(Kind::lost), 0u);
    EXPECT_EQ(b.ask({"GET", "k"}).text, b.lock.acquisition());
    b.lock.unlock();
  });
}

TEST_P(LockInterfaceTest, UnlockByAnybodyIsNoError) {
  run([](Stand& stand) {
    Peer a(stand), b(stand);
    a.lock.lock();
    b.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 1);
    a.lock.unlock();
  });
}

// The reply to the SET is lost: its own client is locked out until the lease ends.
TEST_P(LockInterfaceTest, LocksItselfOutWhenAReplyIsLost) {
  run([](Stand& stand) {
    testing::Relay relay(stand.runtime, stand.network, stand.redis);
    redis::Client client(stand.runtime, stand.network, stand.options(relay.endpoint()));
    client.call({"PING"});
    LockInterface lock(client, {}, "k");
    relay.lose_reply_to("\r\nSET\r\n");
    EXPECT_THROW(lock.try_lock(), Unavailable);
    EXPECT_FALSE(lock.try_lock());
    EXPECT_EQ(client.call({"EXISTS", "k"}).reply.integer, 1);
  });
}

// Between GET and DEL the lease ends and somebody else is granted: the DEL removes his key.
TEST_P(LockInterfaceTest, GetThenDelRemovesTheKeyOfSomebodyElse) {
  run([](Stand& stand) {
    testing::Relay relay(stand.runtime, stand.network, stand.redis);
    redis::Client client(stand.runtime, stand.network, stand.options(relay.endpoint()));
    Peer other(stand);
    LockInterface lock(client, {}, "k", Unlock::get_then_del);
    lock.lock();
    relay.hold_request("\r\nDEL\r\n");
    Task unlocking = stand.runtime.spawn("client", [&] {
      lock.unlock();  // of a task that holds nothing: compares with nothing
    });
    unlocking.join();
    EXPECT_EQ(other.ask({"EXISTS", "k"}).integer, 1);
    Task thief = stand.runtime.spawn("client", [&] {
      relay.wait_held();
      other.ask({"DEL", "k"});  // the lease ends
      EXPECT_TRUE(other.lock.try_lock());
      relay.release_request();
    });
    lock.unlock();
    thief.join();
    EXPECT_EQ(other.ask({"EXISTS", "k"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast::historic
