// Spring's registry of 7.2: what it does, and the flaws for which it is kept.
#include "sim/historic/spring/spring_registry_7.h"

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

class SpringRegistry7Test : public PortsTest {};
HF_ON_ALL_PORTS(SpringRegistry7Test);

// A process: a registry of its own.
struct App {
  explicit App(Fixture& fixture, SpringRegistry7Options options = {})
      : client(fixture.runtime, fixture.network, fixture.options()), registry(client, "locks", options) {}
  App(Fixture& fixture, FaultyLink& link, SpringRegistry7Options options)
      : client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        registry(client, "locks", options) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::shared_ptr<SpringLock7> lock() { return registry.obtain("k"); }
  redis::Client client;
  SpringRegistry7 registry;
};

TEST_P(SpringRegistry7Test, LocksAndUnlocksInBothWays) {
  run([](Fixture& fixture) {
    for (const bool pub_sub : {false, true}) {
      App a(fixture, {.pub_sub = pub_sub}), b(fixture, {.pub_sub = pub_sub});
      EXPECT_EQ(a.lock(), a.lock());
      a.lock()->lock();
      EXPECT_EQ(a.ask({"GET", "locks:k"}).text, a.registry.client_id());
      EXPECT_GT(a.ask({"PTTL", "locks:k"}).integer, 58000);
      EXPECT_FALSE(b.lock()->try_lock());
      EXPECT_FALSE(b.lock()->try_lock_for(150ms));
      EXPECT_THROW(b.lock()->release(), NotOwner);
      EXPECT_TRUE(a.lock()->try_lock());
      a.lock()->unlock();
      EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 1);
      a.lock()->unlock();
      EXPECT_EQ(a.ask({"EXISTS", "locks:k"}).integer, 0);
      EXPECT_TRUE(b.lock()->try_lock());
      b.lock()->unlock();
    }
  });
}

TEST_P(SpringRegistry7Test, AnUnlockAfterItsLeaseIsToldAndTakesNothingAway) {
  run([](Fixture& fixture) {
    for (const bool pub_sub : {false, true}) {
      RecordingObserver observer(fixture.runtime);
      App a(fixture, {.renews = false, .pub_sub = pub_sub, .observer = &observer});
      a.lock()->lock();
      a.ask({"SET", "locks:k", "other"});
      EXPECT_THROW(a.lock()->release(), LockLost);
      EXPECT_EQ(a.ask({"GET", "locks:k"}).text, "other");
      EXPECT_EQ(observer.count(Kind::lost), 1u);
      a.ask({"DEL", "locks:k"});
      EXPECT_TRUE(a.lock()->try_lock()) << "the local lock was given back";
      a.lock()->unlock();
    }
  });
}

// Else it sleeps for an hour.
TEST_P(SpringRegistry7Test, AMessageWakesTheWaiter) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    const SpringRegistry7Options for_an_hour{.expire_after = 1h, .renews = false, .pub_sub = true};
    App a(fixture, for_an_hour), b(fixture, link, for_an_hour);
    a.lock()->lock();
    b.ask({"PING"});
    link.count("EVALSHA");
    const MonotonicTime from = fixture.runtime.now();
    Task waiter = fixture.runtime.spawn("client", [&] {
      b.lock()->lock();
      EXPECT_LT(fixture.runtime.now() - from, 30min);
      b.lock()->unlock();
    });
    while (link.counted() < 2) fixture.runtime.sleep_for(1ms);  // it listens, and has asked once more
    a.lock()->unlock();
    waiter.join();
  });
}

TEST_P(SpringRegistry7Test, IsRenewedWhileItIsHeld) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    App a(fixture, {.expire_after = 600ms, .observer = &observer});
    a.lock()->lock();
    observer.wait_for(Kind::renewed, 5);
  });
}

// In virtual time, where nothing comes between.
TEST(SpringRegistry7Renewal, EndsWithUnlock) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    App a(fixture, {.expire_after = 600ms, .observer = &observer}), b(fixture);
    a.lock()->lock();
    observer.wait_for(Kind::renewed, 5);
    EXPECT_FALSE(b.lock()->try_lock());
    a.lock()->unlock();
    const std::size_t renewed = observer.count(Kind::renewing);
    fixture.runtime.sleep_for(2s);
    EXPECT_EQ(observer.count(Kind::renewing), renewed);
    EXPECT_EQ(observer.count(Kind::renew_failed), 0u);
  });
}

// Two renewals were started, and the lock object knows the second.
TEST_P(SpringRegistry7Test, TheRenewalBeforeAReEntryIsEndedByNobody) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    App a(fixture, {.expire_after = 600ms, .observer = &observer});
    a.lock()->lock();
    a.lock()->lock();
    a.lock()->unlock();
    a.lock()->unlock();
    observer.wait_for(Kind::renew_failed, 2);
    a.ask({"SET", "locks:k", a.registry.client_id(), "PX",
           "300"});  // somebody of this process, without a renewal
    const std::size_t renewed = observer.count(Kind::renewed);
    observer.wait_for(Kind::renewed, renewed + 2);
    EXPECT_LE(a.ask({"PTTL", "locks:k"}).integer, 600) << "it is renewed, for as long as the first hold was";
  });
}

// A holder that died publishes nothing: in virtual time, for it takes half a minute.
TEST(SpringRegistry7Waiting, SleepsThroughTheEndOfALease) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    App a(fixture, {.pub_sub = true});
    a.ask({"SET", "locks:k", "the dead", "PX", "2000"});
    const MonotonicTime from = fixture.runtime.now();
    EXPECT_TRUE(a.lock()->try_lock_for(30s));
    EXPECT_GE(fixture.runtime.now() - from, 30s);
    a.lock()->unlock();
  });
}

// Its patience is spent twice: for the threads of its process, and for Redis.
TEST(SpringRegistry7Waiting, IsPatientForTwiceAsLong) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    App a(fixture), b(fixture);
    b.lock()->lock();
    holdfast::testing::Sign inside(fixture.runtime);
    Task first = fixture.runtime.spawn("client", [&] {
      inside.give();
      EXPECT_FALSE(a.lock()->try_lock_for(4s));
    });
    inside.wait();
    fixture.runtime.sleep_for(100ms);
    const MonotonicTime from = fixture.runtime.now();
    EXPECT_FALSE(a.lock()->try_lock_for(5s));
    EXPECT_GE(fixture.runtime.now() - from, 8s);
    first.join();
    b.lock()->unlock();
  });
}

TEST(SpringRegistry7Registry, AnObjectThatWasDroppedRefuses) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    App a(fixture);
    const auto lock = a.lock();
    EXPECT_EQ(a.registry.expire_unused_older_than(1s), 0u) << "it is younger";
    lock->lock();
    fixture.runtime.sleep_for(2s);
    EXPECT_EQ(a.registry.expire_unused_older_than(1s), 0u) << "it is held";
    lock->unlock();
    EXPECT_EQ(a.registry.expire_unused_older_than(1s), 1u);
    EXPECT_THROW(lock->lock(), Rejected);
    EXPECT_NE(a.lock(), lock);
    EXPECT_TRUE(lock->try_lock()) << "there is one of its key";
    lock->unlock();
  });
}

TEST(SpringRegistry7Waiting, CanBeInterrupted) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    for (const bool pub_sub : {false, true}) {
      App a(fixture, {.pub_sub = pub_sub}), b(fixture, {.pub_sub = pub_sub});
      a.lock()->lock();
      std::stop_source stop;
      Task interrupts = fixture.runtime.spawn("client", [&] {
        fixture.runtime.sleep_for(500ms);
        stop.request_stop();
      });
      EXPECT_THROW(static_cast<void>(b.lock()->try_lock_until(kNever, stop.get_token())), Interrupted);
      EXPECT_THROW(static_cast<void>(b.lock()->try_lock_until(fixture.runtime.now() + 10s, stop.get_token())),
                   LockError);
      interrupts.join();
      a.lock()->unlock();
      EXPECT_TRUE(b.lock()->try_lock()) << "the local lock was given back";
      b.lock()->unlock();
    }
    EXPECT_THROW(App(fixture, {.expire_after = 0ms}).lock(), std::invalid_argument);
  });
}

}  // namespace
}  // namespace holdfast::historic
