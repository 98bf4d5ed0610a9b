// Spring's registry: what it does, and the flaws for which it is kept.
#include "sim/historic/spring/spring_registry.h"

#include "lib/testing/scene.h"
#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class SpringRegistryTest : public PortsTest {};
HF_ON_ALL_PORTS(SpringRegistryTest);

// A process: a registry of its own.
struct App {
  explicit App(Fixture& fixture, SpringRegistryOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options()), registry(client, "locks", options) {}
  App(Fixture& fixture, FaultyLink& link, SpringRegistryOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        registry(client, "locks", options) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::shared_ptr<SpringLock> lock() { return registry.obtain("k"); }
  redis::Client client;
  SpringRegistry registry;
};

TEST_P(SpringRegistryTest, LocksAndUnlocks) {
  run([](Fixture& fixture) {
    App a(fixture), b(fixture);
    EXPECT_EQ(a.lock(), a.lock());
    EXPECT_EQ(a.lock()->key(), "k");
    a.lock()->lock();
    EXPECT_EQ(a.ask({"GET", "locks:k"}).text, a.registry.client_id());
    EXPECT_GT(a.ask({"PTTL", "locks:k"}).integer, 58000);
    EXPECT_LE(a.ask({"PTTL", "locks:k"}).integer, 60000);
    EXPECT_FALSE(b.lock()->try_lock());
    EXPECT_FALSE(b.lock()->try_lock_for(150ms));
    EXPECT_THROW(b.lock()->release(), NotOwner);
    a.lock()->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
    EXPECT_TRUE(b.lock()->try_lock());
    b.lock()->unlock();
  });
}

TEST_P(SpringRegistryTest, IsReentrantLocally) {
  run([](Fixture& fixture) {
    App a(fixture);
    const auto lock = a.lock();
    lock->lock();
    const std::string acquisition = lock->acquisition();
    a.ask({"PEXPIRE", "locks:k", "1000"});
    EXPECT_TRUE(lock->try_lock());
    EXPECT_GT(a.ask({"PTTL", "locks:k"}).integer, 50000);  // the obtain script ran again
    EXPECT_EQ(lock->hold_count(), 2);
    EXPECT_EQ(lock->acquisition(), acquisition);
    fixture.runtime.spawn("client", [&] { EXPECT_FALSE(lock->try_lock()); }).join();
    lock->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 1);
    lock->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
    EXPECT_THROW(lock->release(), NotOwner);
  });
}

// The threads of a process wait for the local lock; only one of them asks Redis.
TEST_P(SpringRegistryTest, ThreadsWaitLocally) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    App a(fixture, link);
    const auto lock = a.lock();
    lock->lock();
    link.count("EVALSHA");
    holdfast::testing::Sign gave_up(fixture.runtime);
    Task other = fixture.runtime.spawn("client", [&] {
      EXPECT_FALSE(lock->try_lock_for(250ms));
      gave_up.give();
      lock->lock();
      lock->unlock();
    });
    gave_up.wait();
    EXPECT_EQ(link.counted(), 0);
    lock->unlock();
    other.join();
    EXPECT_GE(link.counted(), 1);
  });
}

TEST_P(SpringRegistryTest, AWaitCanBeInterrupted) {
  run([](Fixture& fixture) {
    App a(fixture), b(fixture);
    a.lock()->lock();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(b.lock()->try_lock_until(kNever, stop.get_token())), Interrupted);
    a.lock()->unlock();
    EXPECT_TRUE(b.lock()->try_lock());  // the local lock was given back
  });
}

std::string why(const std::function<void()>& fails) {
  try {
    fails();
  } catch (const LockError& error) {
    return error.what();
  }
  return "";
}

// The exception of the pause falls into the general catch of tryLock(t).
TEST_P(SpringRegistryTest, ATimedWaitThatIsInterruptedWhileItPollsCannotAcquire) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    App a(fixture), b(fixture, {.observer = &observer});
    a.lock()->lock();
    std::stop_source stop;
    Task interrupter = fixture.runtime.spawn("client", [&] {
      observer.wait_for(Kind::waiting);
      stop.request_stop();
    });
    bool interrupted = false;
    const std::string error = why([&] {
      try {
        static_cast<void>(b.lock()->try_lock_for(60s, stop.get_token()));
      } catch (const Interrupted&) {
        interrupted = true;
        throw;
      }
    });
    interrupter.join();
    EXPECT_FALSE(interrupted);
    EXPECT_NE(error.find("cannot acquire"), std::string::npos) << error;
    a.lock()->unlock();
    EXPECT_TRUE(b.lock()->try_lock());  // the local lock was given back
    b.lock()->unlock();
  });
}

TEST_P(SpringRegistryTest, ALocalWaitThatIsInterruptedIsInterrupted) {
  run([](Fixture& fixture) {
    App a(fixture);
    const auto lock = a.lock();
    lock->lock();
    std::stop_source stop;
    stop.request_stop();
    fixture.runtime
        .spawn("client",
               [&] {
                 EXPECT_THROW(static_cast<void>(lock->try_lock_for(60s, stop.get_token())), Interrupted);
                 EXPECT_THROW(static_cast<void>(lock->try_lock_until(kNever, stop.get_token())), Interrupted);
               })
        .join();
    lock->unlock();
    // Free, but the flag is set on entry: never asked for.
    EXPECT_THROW(static_cast<void>(lock->try_lock_for(60s, stop.get_token())), Interrupted);
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
  });
}

// tryLock() raises no interruption: it sets the flag again.
TEST_P(SpringRegistryTest, TryLockOfAnInterruptedThreadIsRefused) {
  run([](Fixture& fixture) {
    App a(fixture);
    const auto lock = a.lock();
    std::stop_source stop;
    EXPECT_TRUE(lock->try_lock_for(1s, stop.get_token()));
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
    stop.request_stop();
    EXPECT_FALSE(lock->try_lock());
    EXPECT_EQ(lock->hold_count(), 1);
    lock->unlock();
  });
}

TEST_P(SpringRegistryTest, AnErrorCannotAcquire) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    App a(fixture, link);
    a.ask({"SADD", "locks:k", "not a string"});
    for (const auto& ask : {std::function<void()>([&] { a.lock()->lock(); }),
                            std::function<void()>([&] { static_cast<void>(a.lock()->try_lock_for(1s)); })}) {
      const std::string error = why(ask);
      EXPECT_NE(error.find("cannot acquire"), std::string::npos) << error;
    }
    EXPECT_THROW(a.lock()->lock(), Rejected);
    a.ask({"DEL", "locks:k"});
    EXPECT_NE(why([&] { a.lock()->release(); }).find("you do not own"), std::string::npos);
    EXPECT_TRUE(a.lock()->try_lock());
    a.lock()->unlock();
  });
}

// The local lock is an unfair ReentrantLock.
TEST(SpringRegistryLocal, WhoUnlocksAndLocksAtOnceIsThereBeforeTheWaiter) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    App a(fixture);
    const auto lock = a.lock();
    std::string order;
    lock->lock();
    Task waiter = fixture.runtime.spawn("client", [&] {
      lock->lock();
      order += "waiter ";
      lock->unlock();
    });
    fixture.runtime.sleep_for(10ms);  // virtual: it waits
    lock->unlock();
    lock->lock();
    order += "holder ";
    lock->unlock();
    waiter.join();
    EXPECT_EQ(order, "holder waiter ");
  });
}

TEST_P(SpringRegistryTest, AnExecutorThatWasSetRemoves) {
  run([](Fixture& fixture) {
    App a(fixture);
    std::vector<std::function<void()>> given;
    a.registry.set_executor([&](std::function<void()> removal) { given.push_back(std::move(removal)); });
    const auto lock = a.lock();
    std::stop_source stop;
    EXPECT_TRUE(lock->try_lock_until(kNever, stop.get_token()));
    stop.request_stop();
    lock->unlock();
    ASSERT_EQ(given.size(), 1u);
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 1);
    given.front()();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
  });
}

TEST_P(SpringRegistryTest, ExpiryIsAnErrorAtUnlock) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    App a(fixture, {.expire_after = 50ms, .observer = &observer}), b(fixture);
    a.lock()->lock();
    b.lock()->lock();
    EXPECT_TRUE(a.lock()->is_held_by_me());
    EXPECT_THROW(a.lock()->release(), LockLost);
    EXPECT_EQ(observer.count(Kind::lost), 1u);
    EXPECT_FALSE(a.lock()->is_held_by_me());
    EXPECT_EQ(b.ask({"GET", "locks:k"}).text, b.registry.client_id());
    EXPECT_FALSE(a.lock()->try_lock());  // the local lock was given back: Redis was asked
    b.lock()->unlock();
    EXPECT_TRUE(a.lock()->try_lock());
  });
}

TEST_P(SpringRegistryTest, GetThenUnlinkRemovesTheKeyOfSomebodyElse) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    App a(fixture, link), b(fixture);
    a.lock()->lock();
    link.hold_request("\r\nUNLINK\r\n");
    Task thief = fixture.runtime.spawn("client", [&] {
      link.wait_held();
      b.ask({"DEL", "locks:k"});  // the expiry comes
      b.lock()->lock();
      link.release_request();
    });
    a.lock()->unlock();
    thief.join();
    EXPECT_EQ(b.ask({"EXISTS", "locks:k"}).integer, 0);
  });
}

TEST_P(SpringRegistryTest, DelOnceUnlinkHasFailed) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    App a(fixture, link);
    a.lock()->lock();
    link.lose_reply_to("\r\nUNLINK\r\n");
    a.lock()->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
    link.count("\r\nUNLINK\r\n");
    a.lock()->lock();
    a.lock()->unlock();
    EXPECT_EQ(link.counted(), 0);
    EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
  });
}

// A lock that was never locked is older than any age: a second object of one key, and both pass.
TEST_P(SpringRegistryTest, ADroppedObjectLetsTwoThreadsIn) {
  run([](Fixture& fixture) {
    App a(fixture);
    const auto first = a.lock();
    a.registry.expire_unused_older_than(24h);
    const auto second = a.lock();
    EXPECT_NE(first, second);
    first->lock();
    fixture.runtime
        .spawn("client",
               [&] {
                 EXPECT_TRUE(second->try_lock());
                 second->unlock();
               })
        .join();
    EXPECT_TRUE(first->is_held_by_me());
    EXPECT_THROW(first->release(), LockLost);
  });
}

TEST_P(SpringRegistryTest, ExpiresUnusedLocksOnly) {
  run([](Fixture& fixture) {
    App a(fixture);
    const auto held = a.lock();
    held->lock();
    fixture.runtime.sleep_for(20ms);
    a.registry.expire_unused_older_than(10ms);
    EXPECT_EQ(a.lock(), held);  // held in the store
    held->unlock();
    a.registry.expire_unused_older_than(1h);
    EXPECT_EQ(a.lock(), held);  // used not long ago
    fixture.runtime.sleep_for(20ms);
    a.registry.expire_unused_older_than(10ms);
    EXPECT_NE(a.lock(), held);
  });
}

// The removal waits on another task; the next thread is granted the same record, and loses it.
TEST(SpringRegistryInterrupt, AnInterruptedUnlockRemovesTheRecordOfTheNextThread) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    holdfast::testing::OtherProcess& process = fixture.add_process("app");
    bool done = false;
    process.start("client", [&] {
      Fixture inside{fixture.where, process.runtime(), process.network(), fixture.redis};
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
        EXPECT_THROW(lock->release(), LockLost);
        b.lock()->unlock();
      });
      next.join();
      done = true;
    });
    fixture.runtime.sleep_for(10s);
    EXPECT_TRUE(done);
  });
}

TEST(SpringRegistryClock, AStepEndsATimedWait) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    App a(fixture), b(fixture);
    a.lock()->lock();
    const MonotonicTime start = fixture.runtime.now();
    Task step = fixture.runtime.spawn("client", [&] {
      fixture.runtime.sleep_for(350ms);
      fixture.step_wall(1h);
    });
    EXPECT_FALSE(b.lock()->try_lock_for(10s));
    EXPECT_LT(fixture.runtime.now() - start, 1s);
    step.join();
  });
}

}  // namespace
}  // namespace holdfast::historic
