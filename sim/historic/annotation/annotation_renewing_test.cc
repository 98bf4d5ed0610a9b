// The annotation lock with renewals: what it does, and the flaws for which it is kept. Rounds are seconds
// apart, so most of this runs in virtual time.
#include "sim/historic/annotation/annotation_renewing.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

// A process: one scheduler, and a lock on it.
struct Service {
  Service(Fixture& fixture, Duration expiry, int max_renewals = 3, FaultyLink* link = nullptr)
      : client(fixture.runtime, fixture.network,
               link ? fixture.options(link->endpoint()) : fixture.options()),
        observer(fixture.runtime),
        scheduler(client, &observer),
        lock(client, scheduler, {.expired_time = expiry, .observer = &observer}, "k", max_renewals) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::int64_t left_ms() { return ask({"PTTL", "lock:k"}).integer; }
  redis::Client client;
  RecordingObserver observer;
  RenewalScheduler scheduler;
  AnnotationRenewingLock lock;
};

class AnnotationRenewingTest : public PortsTest {};
HF_ON_ALL_PORTS(AnnotationRenewingTest);

// At 3 s two whole seconds have passed: (3 / 3) * 2.
TEST_P(AnnotationRenewingTest, RenewsAtTwoThirdsOfTheExpiry) {
  run([](Fixture& fixture) {
    const MonotonicTime start = fixture.runtime.now();
    Service a(fixture, 3s);
    fixture.runtime.sleep_for(500ms);  // or the lease of 3 s would end just when the round at 3 s begins
    a.lock.lock();
    EXPECT_EQ(a.ask({"GET", "lock:k"}).text, a.lock.acquisition());
    a.observer.wait_for(Kind::renewed);
    EXPECT_GE(fixture.runtime.now() - start, 3s);
    EXPECT_GT(a.left_ms(), 2000);
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
  });
}

void in_virtual_time(const std::function<void(Fixture&)>& body) {
  testing::with_fixture(Where::embedded, body);
}

TEST(AnnotationRenewing, KeepsALongHold) {
  in_virtual_time([](Fixture& fixture) {
    Service a(fixture, 9s), b(fixture, 9s);
    a.lock.lock();
    fixture.runtime.sleep_for(20s);  // renewed at 7 s, 15 s
    EXPECT_EQ(a.observer.count(Kind::renewed), 2u);
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_TRUE(a.lock.is_held_by_me());
    a.lock.unlock();
    fixture.runtime.sleep_for(2s);
    EXPECT_EQ(a.scheduler.tasks(), 0u);  // a round that finds no key drops the task
  });
}

TEST(AnnotationRenewing, TheTaskOutlivesItsLockAndRenewsAStranger) {
  in_virtual_time([](Fixture& fixture) {
    Service a(fixture, 3s), b(fixture, 3s);
    fixture.runtime.sleep_for(100ms);
    a.lock.lock();
    a.lock.unlock();
    EXPECT_EQ(a.scheduler.tasks(), 1u);
    b.ask({"SET", "lock:k", "of one who died", "EX", "4"});
    fixture.runtime.sleep_for(3s);
    EXPECT_EQ(a.observer.count(Kind::renewed), 1u);
    EXPECT_GT(a.left_ms(), 2400);
  });
}

TEST(AnnotationRenewing, AtTheMaximumTheThreadIsInterrupted) {
  in_virtual_time([](Fixture& fixture) {
    Service a(fixture, 9s, 1);
    a.lock.lock();
    const std::stop_token lost = a.lock.lost();
    fixture.runtime.sleep_for(8s);
    EXPECT_FALSE(lost.stop_requested());
    fixture.runtime.sleep_for(2s);  // a round later
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_FALSE(a.lock.is_held_by_me());
    EXPECT_EQ(a.observer.count(Kind::lost), 1u);
    EXPECT_EQ(a.scheduler.tasks(), 0u);
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 1);  // nothing was released
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
    EXPECT_TRUE(a.lock.try_lock());
    EXPECT_TRUE(a.lock.is_held_by_me());  // the flag was cleared
  });
}

// The thread holds another lock by now, and is interrupted in it for one that it gave back long ago.
TEST(AnnotationRenewing, InterruptsAnInnocentThread) {
  in_virtual_time([](Fixture& fixture) {
    Service a(fixture, 3s, 0);
    AnnotationRenewingLock other(a.client, a.scheduler, {.expired_time = 60s}, "other", 100);
    a.lock.lock();
    a.lock.unlock();
    a.ask({"SET", "lock:k", "a stranger", "EX", "60"});
    other.lock();
    fixture.runtime.sleep_for(1100ms);
    EXPECT_TRUE(other.lost().stop_requested());
    EXPECT_FALSE(other.is_held_by_me());
    EXPECT_EQ(a.ask({"EXISTS", "lock:other"}).integer, 1);
  });
}

TEST(AnnotationRenewing, AnInterruptEndsAWait) {
  in_virtual_time([](Fixture& fixture) {
    Service a(fixture, 3s, 0), b(fixture, 60s);
    a.lock.lock();
    a.lock.unlock();
    b.lock.lock();
    EXPECT_THROW(a.lock.lock(), Interrupted);
    EXPECT_THROW(a.lock.lock(), WaitTimeout);  // sleeping cleared the flag
  });
}

// With 3 s the second renewal comes a round too late; with 1 s nothing is renewed but by luck.
TEST(AnnotationRenewing, RoundsAreTooCoarseForShortExpiries) {
  in_virtual_time([](Fixture& fixture) {
    for (const auto& [expiry, survives] :
         {std::pair(Duration(3s), 5800ms), std::pair(Duration(1s), 1800ms)}) {
      Service a(fixture, expiry, 100);
      fixture.runtime.sleep_for(100ms);
      a.lock.lock();
      fixture.runtime.sleep_for(survives);
      EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 1);
      fixture.runtime.sleep_for(200ms);
      EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
      EXPECT_TRUE(a.lock.is_held_by_me());
      EXPECT_EQ(a.observer.count(Kind::lost), 0u);
    }
  });
}

TEST(AnnotationRenewing, AClockThatStepsBackStopsRenewals) {
  in_virtual_time([](Fixture& fixture) {
    Service a(fixture, 9s);
    a.lock.lock();
    fixture.step_wall(-60s);
    fixture.runtime.sleep_for(8s);
    EXPECT_EQ(a.observer.count(Kind::renewed), 0u);
  });
}

// The look at one lock fails; the other one is renewed in the same round.
TEST(AnnotationRenewing, AnErrorOfOneTaskLeavesTheOthersTheirRound) {
  in_virtual_time([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Service a(fixture, 3s, 3, &link);
    AnnotationRenewingLock other(a.client, a.scheduler, {.expired_time = 3s, .observer = &a.observer},
                                 "other");
    fixture.runtime.sleep_for(500ms);  // or the leases would end just when the round at 3 s begins
    a.lock.lock();
    other.lock();
    fixture.runtime.sleep_for(1500ms);
    link.lose_reply_to("\r\nEXISTS\r\n");
    fixture.runtime.sleep_for(2s);
    EXPECT_EQ(link.to_lose(), 0);
    EXPECT_EQ(a.observer.count(Kind::renewed), 1u);
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
    EXPECT_EQ(a.ask({"EXISTS", "lock:other"}).integer, 1);
    EXPECT_EQ(a.scheduler.tasks(), 2u);
  });
}

}  // namespace
}  // namespace holdfast::historic
