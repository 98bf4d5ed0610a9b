// The annotation lock: what it does, and the flaws for which it is kept.
#include "sim/historic/annotation/annotation.h"

#include "lib/testing/fake_server.h"
#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class AnnotationTest : public PortsTest {};
HF_ON_ALL_PORTS(AnnotationTest);

struct Service {
  explicit Service(Fixture& fixture, AnnotationOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options()), lock(client, options, "k") {}
  Service(Fixture& fixture, FaultyLink& link, AnnotationOptions options = {})
      : client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        lock(client, options, "k") {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  redis::Client client;
  AnnotationLock lock;
};

TEST_P(AnnotationTest, LocksAndUnlocks) {
  run([](Fixture& fixture) {
    Service a(fixture), b(fixture);
    a.lock.lock();
    EXPECT_EQ(a.lock.key(), "k");
    EXPECT_EQ(a.ask({"GET", "lock:k"}).text, a.lock.acquisition());
    EXPECT_GT(a.ask({"TTL", "lock:k"}).integer, 58);
    EXPECT_LE(a.ask({"TTL", "lock:k"}).integer, 60);
    EXPECT_FALSE(b.lock.try_lock());
    EXPECT_FALSE(b.lock.try_lock_for(150ms));
    a.lock.unlock();
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
  });
}

TEST_P(AnnotationTest, AWaitThatIsTooLongIsAnError) {
  run([](Fixture& fixture) {
    Service a(fixture), b(fixture, {.timeout_for_lock = 250ms});
    a.lock.lock();
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_THROW(b.lock.lock(), WaitTimeout);
    EXPECT_GE(fixture.runtime.now() - start, 250ms);
    EXPECT_FALSE(b.lock.is_held_by_me());
    a.lock.unlock();
    b.lock.lock();
  });
}

// while (now < end): with nothing to wait for, a lock that is free is not asked for.
TEST_P(AnnotationTest, ATimeoutOfZeroNeverTries) {
  run([](Fixture& fixture) {
    Service a(fixture, {.timeout_for_lock = 0ms});
    EXPECT_THROW(a.lock.lock(), WaitTimeout);
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 0);
    EXPECT_FALSE(a.lock.is_held_by_me());
  });
}

TEST_P(AnnotationTest, OneUuidACall) {
  run([](Fixture& fixture) {
    int refusals = 2;
    redis::testing::FakeServer server(
        fixture.runtime, fixture.network,
        [&](redis::testing::Peer& peer, const redis::testing::Command& command) {
          const bool refused = command[0] == "SET" && refusals-- > 0;
          peer.send(refused ? "$-1\r\n" : "+OK\r\n");
        });
    redis::Client client(fixture.runtime, fixture.network, fixture.options(server.endpoint()));
    AnnotationLock lock(client, {}, "k");
    lock.lock();
    const std::string asked = "1 SET lock:k " + lock.acquisition() + " EX 60 NX";
    std::size_t the_same = 0;
    for (const std::string& command : server.log()) the_same += command == asked ? 1 : 0;
    EXPECT_EQ(the_same, 3u);
    const std::string first = lock.acquisition();
    lock.lock();
    EXPECT_NE(lock.acquisition(), first) << "another call";
  });
}

TEST_P(AnnotationTest, AnEndOfTheLeaseIsOnlyLogged) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Service a(fixture, {.expired_time = 900ms, .observer = &observer}), b(fixture);
    a.lock.lock();
    EXPECT_LE(a.ask({"PTTL", "lock:k"}).integer, 1000);  // whole seconds
    a.ask({"DEL", "lock:k"});                            // the lease ends
    b.lock.lock();
    EXPECT_TRUE(a.lock.is_held_by_me());
    EXPECT_NO_THROW(a.lock.release());
    EXPECT_EQ(observer.count(Kind::lost), 1u);
    EXPECT_EQ(observer.count(Kind::released), 0u);
    EXPECT_EQ(b.ask({"GET", "lock:k"}).text, b.lock.acquisition());
  });
}

TEST_P(AnnotationTest, GetThenDelRemovesTheKeyOfSomebodyElse) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Service a(fixture, link), b(fixture);
    a.lock.lock();
    link.hold_request("\r\nDEL\r\n");
    Task thief = fixture.runtime.spawn("client", [&] {
      link.wait_held();
      b.ask({"DEL", "lock:k"});  // the lease ends
      EXPECT_TRUE(b.lock.try_lock());
      link.release_request();
    });
    a.lock.unlock();
    thief.join();
    EXPECT_EQ(b.ask({"EXISTS", "lock:k"}).integer, 0);
  });
}

TEST_P(AnnotationTest, LocksItselfOutWhenAReplyIsLost) {
  run([](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Service a(fixture, link);
    link.lose_reply_to("\r\nSET\r\n");
    EXPECT_THROW(static_cast<void>(a.lock.try_lock()), Unavailable);
    EXPECT_FALSE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 1);
  });
}

// The wait is counted on the wall clock.
TEST(AnnotationClock, AStepEndsAWait) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Service a(fixture), b(fixture);
    a.lock.lock();
    const MonotonicTime start = fixture.runtime.now();
    Task step = fixture.runtime.spawn("client", [&] {
      fixture.runtime.sleep_for(350ms);
      fixture.step_wall(1h);
    });
    EXPECT_THROW(b.lock.lock(), WaitTimeout);
    EXPECT_LT(fixture.runtime.now() - start, 1s);
    step.join();
  });
}

// Attempts at 0 and 100 ms; at 200 ms the wait is over.
TEST(AnnotationClock, NothingIsTriedAfterTheLastPause) {
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Service a(fixture), b(fixture, link, {.timeout_for_lock = 200ms});
    a.lock.lock();
    b.ask({"PING"});
    link.count("\r\nSET\r\n");
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_THROW(b.lock.lock(), WaitTimeout);
    EXPECT_EQ(link.counted(), 2);
    EXPECT_GE(fixture.runtime.now() - start, 200ms);
  });
}

}  // namespace
}  // namespace holdfast::historic
