// Reentrancy by a thread-local count and a JSON value: what it does, and the flaws for which it is kept.
#include "sim/historic/lock_interface/lock_interface_reentrant.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Stand;

class LockInterfaceReentrantTest : public PortsTest {};
HF_ON_ALL_PORTS(LockInterfaceReentrantTest);

// A process: its own client, and its own numbers for threads.
struct Process {
  explicit Process(Stand& stand, LockOptions options = {})
      : client(stand.runtime, stand.network, stand.options()),
        threads(stand.runtime),
        lock(client, options, "k", threads) {}
  std::string value() { return client.call({"GET", "k"}).reply.text; }
  redis::Client client;
  ThreadNumbers threads;
  LockInterfaceReentrant lock;
};

template <class Body>
void on_another_task(Stand& stand, Body body) {
  stand.runtime.spawn("client", body).join();
}

TEST_P(LockInterfaceReentrantTest, EntersAgainWithinAProcess) {
  run([](Stand& stand) {
    Process p(stand);
    p.lock.lock();
    EXPECT_EQ(p.value(), "{\"threadId\":1,\"count\":1}");
    const std::string acquisition = p.lock.acquisition();
    EXPECT_TRUE(p.lock.try_lock());
    EXPECT_EQ(p.lock.hold_count(), 2);
    EXPECT_EQ(p.lock.acquisition(), acquisition);
    on_another_task(stand, [&] { EXPECT_FALSE(p.lock.try_lock()); });
    p.lock.unlock();
    EXPECT_TRUE(p.lock.is_held_by_me());
    EXPECT_EQ(p.value(), "{\"threadId\":1,\"count\":1}");
    p.lock.unlock();
    EXPECT_EQ(p.value(), "");
    on_another_task(stand, [&] {
      EXPECT_TRUE(p.lock.try_lock());
      EXPECT_EQ(p.value(), "{\"threadId\":3,\"count\":1}");
      p.lock.unlock();
    });
  });
}

TEST_P(LockInterfaceReentrantTest, TheSameThreadOfAnotherProcessWalksIn) {
  run([](Stand& stand) {
    Process a(stand), b(stand);
    a.lock.lock();
    EXPECT_TRUE(b.lock.try_lock());  // its thread 1
    EXPECT_EQ(a.value(), "{\"threadId\":1,\"count\":2}");
    EXPECT_TRUE(a.lock.is_held_by_me());
    b.lock.unlock();
    EXPECT_EQ(a.value(), "{\"threadId\":1,\"count\":1}");
    a.lock.unlock();
    EXPECT_EQ(a.value(), "");
  });
}

TEST_P(LockInterfaceReentrantTest, TheCountOutlivesTheRecord) {
  run([](Stand& stand) {
    Process a(stand), b(stand);
    on_another_task(stand, [&] { b.threads.mine(); });
    a.lock.lock();
    a.client.call({"DEL", "k"});  // its lease ends
    Task other = stand.runtime.spawn("client", [&] { EXPECT_TRUE(b.lock.try_lock()); });
    other.join();
    EXPECT_EQ(a.value(), "{\"threadId\":2,\"count\":1}");
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_EQ(a.lock.hold_count(), 2);
  });
}

TEST_P(LockInterfaceReentrantTest, WhatIsNoneOfItsValuesIsNotItsOwn) {
  run([](Stand& stand) {
    Process a(stand);
    for (const char* value : {"x", "{}", "{\"threadId\":1,\"count\":1", "{\"threadId\":,\"count\":1}"}) {
      a.client.call({"SET", "k", value});
      EXPECT_FALSE(a.lock.try_lock()) << value;
    }
    a.lock.unlock();  // holds nothing: no error, nothing happens
    EXPECT_NE(a.value(), "");
  });
}

}  // namespace
}  // namespace holdfast::historic
