// Reentrancy by a thread-local count and a JSON value: what it does, and the flaws for which it is kept.
#include "sim/historic/lock_interface/lock_interface_reentrant.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;

class LockInterfaceReentrantTest : public PortsTest {};
HF_ON_ALL_PORTS(LockInterfaceReentrantTest);

// A process: its own client, and its own numbers for threads.
struct Process {
  explicit Process(Fixture& fixture, LockOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options()),
        threads(fixture.runtime),
        lock(client, options, "k", threads) {}
  std::string value() { return client.call({"GET", "k"}).reply.text; }
  redis::Client client;
  ThreadNumbers threads;
  LockInterfaceReentrant lock;
};

template <class Body>
void on_another_task(Fixture& fixture, Body body) {
  fixture.runtime.spawn("client", body).join();
}

TEST_P(LockInterfaceReentrantTest, EntersAgainWithinAProcess) {
  run([](Fixture& fixture) {
    Process p(fixture);
    p.lock.lock();
    EXPECT_EQ(p.value(), "{\"threadId\":1,\"count\":1}");
    const std::string acquisition = p.lock.acquisition();
    EXPECT_TRUE(p.lock.try_lock());
    EXPECT_EQ(p.lock.hold_count(), 2);
    EXPECT_EQ(p.lock.acquisition(), acquisition);
    on_another_task(fixture, [&] { EXPECT_FALSE(p.lock.try_lock()); });
    p.lock.unlock();
    EXPECT_TRUE(p.lock.is_held_by_me());
    EXPECT_EQ(p.value(), "{\"threadId\":1,\"count\":1}");
    p.lock.unlock();
    EXPECT_EQ(p.value(), "");
    on_another_task(fixture, [&] {
      EXPECT_TRUE(p.lock.try_lock());
      EXPECT_EQ(p.value(), "{\"threadId\":3,\"count\":1}");
      p.lock.unlock();
    });
  });
}

TEST_P(LockInterfaceReentrantTest, TheSameThreadOfAnotherProcessWalksIn) {
  run([](Fixture& fixture) {
    Process a(fixture), b(fixture);
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
  run([](Fixture& fixture) {
    Process a(fixture), b(fixture);
    on_another_task(fixture, [&] { b.threads.mine(); });
    a.lock.lock();
    a.client.call({"DEL", "k"});  // its lease ends
    Task other = fixture.runtime.spawn("client", [&] { EXPECT_TRUE(b.lock.try_lock()); });
    other.join();
    EXPECT_EQ(a.value(), "{\"threadId\":2,\"count\":1}");
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_EQ(a.lock.hold_count(), 2);
  });
}

TEST_P(LockInterfaceReentrantTest, WhatIsNoneOfItsValuesIsNotItsOwn) {
  run([](Fixture& fixture) {
    Process a(fixture);
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
