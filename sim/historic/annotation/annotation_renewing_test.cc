// The annotation lock with renewals: what it does, and the flaws for which it is kept. Rounds are seconds
// apart, so most of this runs in virtual time.
#include "sim/historic/annotation/annotation_renewing.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Relay;
using testing::Stand;
using testing::Where;
using testing::Witness;
using Kind = LockEvent::Kind;

// A process: one scheduler, and a lock on it.
struct Service {
  Service(Stand& stand, Duration expiry, int max_renewals = 3, Relay* relay = nullptr)
      : client(stand.runtime, stand.network, relay ? stand.options(relay->endpoint()) : stand.options()),
        witness(stand.runtime),
        scheduler(client, &witness),
        lock(client, scheduler, {.expired_time = expiry, .observer = &witness}, "k", max_renewals) {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  std::int64_t left_ms() { return ask({"PTTL", "lock:k"}).integer; }
  redis::Client client;
  Witness witness;
  RenewalScheduler scheduler;
  AnnotationRenewingLock lock;
};

class AnnotationRenewingTest : public PortsTest {};
HF_ON_ALL_PORTS(AnnotationRenewingTest);

// At 3 s two whole seconds have passed: (3 / 3) * 2.
TEST_P(AnnotationRenewingTest, RenewsAtTwoThirdsOfTheExpiry) {
  run([](Stand& stand) {
    const MonotonicTime start = stand.runtime.now();
    Service a(stand, 3s);
    stand.runtime.sleep_for(500ms);  // or the lease of 3 s would end just when the round at 3 s begins
    a.lock.lock();
    EXPECT_EQ(a.ask({"GET", "lock:k"}).text, a.lock.acquisition());
    a.witness.wait_for(Kind::renewed);
    EXPECT_GE(stand.runtime.now() - start, 3s);
    EXPECT_GT(a.left_ms(), 2000);
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
  });
}

void in_virtual_time(const std::function<void(Stand&)>& body) { testing::on_stand(Where::embedded, body); }

TEST(AnnotationRenewing, KeepsALongHold) {
  in_virtual_time([](Stand& stand) {
    Service a(stand, 9s), b(stand, 9s);
    a.lock.lock();
    stand.runtime.sleep_for(20s);  // renewed at 7 s, 15 s
    EXPECT_EQ(a.witness.count(Kind::renewed), 2u);
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_TRUE(a.lock.is_held_by_me());
    a.lock.unlock();
    stand.runtime.sleep_for(2s);
    EXPECT_EQ(a.scheduler.tasks(), 0u);  // a round that finds no key drops the task
  });
}

TEST(AnnotationRenewing, TheTaskOutlivesItsLockAndRenewsAStranger) {
  in_virtual_time([](Stand& stand) {
    Service a(stand, 3s), b(stand, 3s);
    stand.runtime.sleep_for(100ms);
    a.lock.lock();
    a.lock.unlock();
    EXPECT_EQ(a.scheduler.tasks(), 1u);
    b.ask({"SET", "lock:k", "of one who died", "EX", "4"});
    stand.runtime.sleep_for(3s);
    EXPECT_EQ(a.witness.count(Kind::renewed), 1u);
    EXPECT_GT(a.left_ms(), 2400);
  });
}

TEST(AnnotationRenewing, AtTheMaximumTheThreadIsInterrupted) {
  in_virtual_time([](Stand& stand) {
    Service a(stand, 9s, 1);
    a.lock.lock();
    const std::stop_token lost = a.lock.lost();
    stand.runtime.sleep_for(8s);
    EXPECT_FALSE(lost.stop_requested());
    stand.runtime.sleep_for(2s);  // a round later
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_FALSE(a.lock.is_held_by_me());
    EXPECT_EQ(a.witness.count(Kind::lost), 1u);
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
  in_virtual_time([](Stand& stand) {
    Service a(stand, 3s, 0);
    AnnotationRenewingLock other(a.client, a.scheduler, {.expired_time = 60s}, "other", 100);
    a.lock.lock();
    a.lock.unlock();
    a.ask({"SET", "lock:k", "a stranger", "EX", "60"});
    other.lock();
    stand.runtime.sleep_for(1100ms);
    EXPECT_TRUE(other.lost().stop_requested());
    EXPECT_FALSE(other.is_held_by_me());
    EXPECT_EQ(a.ask({"EXISTS", "lock:other"}).integer, 1);
  });
}

TEST(AnnotationRenewing, AnInterruptEndsAWait) {
  in_virtual_time([](Stand& stand) {
    Service a(stand, 3s, 0), b(stand, 60s);
    a.lock.lock();
    a.lock.unlock();
    b.lock.lock();
    EXPECT_THROW(a.lock.lock(), Interrupted);
    EXPECT_THROW(a.lock.lock(), WaitTimeout);  // sleeping cleared the flag
  });
}

// With 3 s the second renewal comes a round too late; with 1 s nothing is renewed but by luck.
TEST(AnnotationRenewing, RoundsAreTooCoarseForShortExpiries) {
  in_virtual_time([](Stand& stand) {
    for (const auto& [expiry, survives] :
         {std::pair(Duration(3s), 5800ms), std::pair(Duration(1s), 1800ms)}) {
      Service a(stand, expiry, 100);
      stand.runtime.sleep_for(100ms);
      a.lock.lock();
      stand.runtime.sleep_for(survives);
      EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 1);
      stand.runtime.sleep_for(200ms);
      EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
      EXPECT_TRUE(a.lock.is_held_by_me());
      EXPECT_EQ(a.witness.count(Kind::lost), 0u);
    }
  });
}

TEST(AnnotationRenewing, AClockThatStepsBackStopsRenewals) {
  in_virtual_time([](Stand& stand) {
    Service a(stand, 9s);
    a.lock.lock();
    stand.step_wall(-60s);
    stand.runtime.sleep_for(8s);
    EXPECT_EQ(a.witness.count(Kind::renewed), 0u);
  });
}

// One error, and the other locks of the process are not looked at in this round.
TEST(AnnotationRenewing, OneErrorEndsTheRoundForAll) {
  in_virtual_time([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    Service a(stand, 3s, 3, &relay);
    AnnotationRenewingLock other(a.client, a.scheduler, {.expired_time = 3s, .observer = &a.witness},
                                 "other");
    a.lock.lock();
    other.lock();
    stand.runtime.sleep_for(2s);
    relay.lose_reply_to("\r\nEXISTS\r\n");
    stand.runtime.sleep_for(2s);
    EXPECT_EQ(a.witness.count(Kind::renewing), 0u);
    EXPECT_EQ(a.ask({"EXISTS", "lock:k", "lock:other"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast::historic
