// Spring's registry: what it does, and the flaws for which it is kept.
#include "sim/historic/spring/spring_registry.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Relay;
using testing::Stand;
using testing::Where;
using testing::Witness;
using Kind = LockEvent::Kind;

class SpringRegistryTest : public PortsTest {};
HF_ON_ALL_PORTS(SpringRegistryTest);

// A process: a registry of its own.
struct App {
  explicit App(Stand& stand, SpringRegistryOptions options = {})
      : client(stand.runtime, stand.network, stand.options()), registry(client, "locks", options) {}
  App(Stand& stand, Relay& relay, SpringRegistryOptions options = {})
      : client(stand.runtime, stand.network, stand.options(relay.endpoint())),
        registry(client, "locks", options) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::shared_ptr<SpringLock> lock() { return registry.obtain("k"); }
  redis::Client client;
  SpringRegistry registry;
};

TEST_P(SpringRegistryTest, LocksAndUnlocks) {
  run([](Stand& stand) {
    App a(stand), b(stand);
    EXPECT_EQ(a.lock(), a.lock());
    EXPECT_EQ(a.lock()->key(), "k");
    a.lock()->lock();
    EXPECT_EQ(a.ask({"GET", "locks:k"}).text, a.registry.client_id());
    EXPECT_GT(a.ask({"PTTL", "locks:k"}).integer, 58000);
    EXPECT_LE(a.ask({"PTTL", "locks:k"}).integer, 60000);
    EXPECT_FALSE(b.lock()->try_lock());
    EXPECT_FALSE(b.lock()->try_lock_for(150ms));
    EXPECT_THROW(b.lock()->unlock(), NotOwner);
    a.lock()->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
    EXPECT_TRUE(b.lock()->try_lock());
    b.lock()->unlock();
  });
}

TEST_P(SpringRegistryTest, IsReentrantLocally) {
  run([](Stand& stand) {
    App a(stand);
    const auto lock = a.lock();
    lock->lock();
    const std::string acquisition = lock->acquisition();
    a.ask({"PEXPIRE", "locks:k", "1000"});
    EXPECT_TRUE(lock->try_lock());
    EXPECT_GT(a.ask({"PTTL", "locks:k"}).integer, 50000);  // the obtain script ran again
    EXPECT_EQ(lock->hold_count(), 2);
    EXPECT_EQ(lock->acquisition(), acquisition);
    stand.runtime.spawn("client", [&] { EXPECT_FALSE(lock->try_lock()); }).join();
    lock->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 1);
    lock->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
    EXPECT_THROW(lock->unlock(), NotOwner);
  });
}

// The threads of a process wait for the local lock; only one of them asks Redis.
TEST_P(SpringRegistryTest, ThreadsWaitLocally) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    App a(stand, relay);
    const auto lock = a.lock();
    lock->lock();
    relay.count("EVALSHA");
    Task other = stand.runtime.spawn("client", [&] {
      EXPECT_FALSE(lock->try_lock_for(250ms));
      lock->lock();
      lock->unlock();
    });
    stand.runtime.sleep_for(300ms);
    EXPECT_EQ(relay.counted(), 0);
    lock->unlock();
    other.join();
    EXPECT_GE(relay.counted(), 1);
  });
}

TEST_P(SpringRegistryTest, AWaitCanBeInterrupted) {
  run([](Stand& stand) {
    App a(stand), b(stand);
    a.lock()->lock();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(b.lock()->try_lock_until(kNever, stop.get_token()), Interrupted);
    a.lock()->unlock();
    EXPECT_TRUE(b.lock()->try_lock());  // the local lock was given back
  });
}

TEST_P(SpringRegistryTest, ExpiryIsAnErrorAtUnlock) {
  run([](Stand& stand) {
    Witness witness(stand.runtime);
    App a(stand, {.expire_after = 50ms, .observer = &witness}), b(stand);
    a.lock()->lock();
    b.lock()->lock();
    EXPECT_TRUE(a.lock()->is_held_by_me());
    EXPECT_THROW(a.lock()->unlock(), LockLost);
    EXPECT_EQ(witness.count(Kind::lost), 1u);
    EXPECT_FALSE(a.lock()->is_held_by_me());
    EXPECT_EQ(b.ask({"GET", "locks:k"}).text, b.registry.client_id());
    EXPECT_FALSE(a.lock()->try_lock());  // the local lock was given back: Redis was asked
    b.lock()->unlock();
    EXPECT_TRUE(a.lock()->try_lock());
  });
}

TEST_P(SpringRegistryTest, GetThenUnlinkRemovesTheKeyOfSomebodyElse) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    App a(stand, relay), b(stand);
    a.lock()->lock();
    relay.hold_request("\r\nUNLINK\r\n");
    Task thief = stand.runtime.spawn("client", [&] {
      relay.wait_held();
      b.ask({"DEL", "locks:k"});  // the expiry comes
      b.lock()->lock();
      relay.release_request();
    });
    a.lock()->unlock();
    thief.join();
    EXPECT_EQ(b.ask({"EXISTS", "locks:k"}).integer, 0);
  });
}

TEST_P(SpringRegistryTest, DelOnceUnlinkHasFailed) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    App a(stand, relay);
    a.lock()->lock();
    relay.lose_reply_to("\r\nUNLINK\r\n");
    a.lock()->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
    relay.count("\r\nUNLINK\r\n");
    a.lock()->lock();
    a.lock()->unlock();
    EXPECT_EQ(relay.counted(), 0);
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
  });
}

// A lock that was never locked is older than any age: a second object of one key, and both pass.
TEST_P(SpringRegistryTest, ADroppedObjectLetsTwoThreadsIn) {
  run([](Stand& stand) {
    App a(stand);
    const auto first = a.lock();
    a.registry.expire_unused_older_than(24h);
    const auto second = a.lock();
    EXPECT_NE(first, second);
    first->lock();
    stand.runtime
        .spawn("client",
               [&] {
                 EXPECT_TRUE(second->try_lock());
                 second->unlock();
               })
        .join();
    EXPECT_TRUE(first->is_held_by_me());
    EXPECT_THROW(first->unlock(), LockLost);
  });
}

TEST_P(SpringRegistryTest, ExpiresUnusedLocksOnly) {
  run([](Stand& stand) {
    App a(stand);
    const auto held = a.lock();
    held->lock();
    stand.runtime.sleep_for(20ms);
    a.registry.expire_unused_older_than(10ms);
    EXPECT_EQ(a.lock(), held);  // held in the store
    held->unlock();
    a.registry.expire_unused_older_than(1h);
    EXPECT_EQ(a.lock(), held);  // used not long ago
    stand.runtime.sleep_for(20ms);
    a.registry.expire_unused_older_than(10ms);
    EXPECT_NE(a.lock(), held);
  });
}

// The removal waits on another task; the next thread is granted the same record, and loses it.
TEST(SpringRegistryInterrupt, AnInterruptedUnlockRemovesTheRecordOfTheNextThread) {
  testing::on_stand(Where::embedded, [](Stand& stand) {
    holdfast::testing::OtherProcess& process = stand.add_process("app");
    bool done = false;
    process.start("client", [&] {
      Stand inside{stand.where, process.runtime(), process.network(), stand.redis};
      App a(inside), b(inside);
      const auto lock = a.lock();
      std::stop_source interrupt;
      EXPECT_TRUE(lock->try_lock_until(kNever, interrupt.get_token()));
      interrupt.request_stop();
      process.pause_role("executor");
      lock->unlock();
      EXPECT_EQ(b.ask({"GET", "locks:k"}).text, a.registry.client_id());
      Task next = process.runtime().spawn("client", [&] {
        lock->lock();
        process.resume_role("executor");
        process.runtime().sleep_for(10ms);
        EXPECT_TRUE(b.lock()->try_lock());  // two owners
        EXPECT_TRUE(lock->is_held_by_me());
        EXPECT_THROW(lock->unlock(), LockLost);
        b.lock()->unlock();
      });
      next.join();
      done = true;
    });
    stand.runtime.sleep_for(10s);
    EXPECT_TRUE(done);
  });
}

TEST(SpringRegistryClock, AStepEndsATimedWait) {
  testing::on_stand(Where::embedded, [](Stand& stand) {
    App a(stand), b(stand);
    a.lock()->lock();
    const MonotonicTime start = stand.runtime.now();
    Task step = stand.runtime.spawn("client", [&] {
      stand.runtime.sleep_for(350ms);
      stand.step_wall(1h);
    });
    EXPECT_FALSE(b.lock()->try_lock_for(10s));
    EXPECT_LT(stand.runtime.now() - start, 1s);
    step.join();
  });
}

}  // namespace
}  // namespace holdfast::historic
