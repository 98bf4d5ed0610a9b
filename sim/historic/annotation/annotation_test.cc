// The annotation lock: what it does, and the flaws for which it is kept.
#include "sim/historic/annotation/annotation.h"

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Relay;
using testing::Stand;
using testing::Where;
using testing::Witness;
using Kind = LockEvent::Kind;

class AnnotationTest : public PortsTest {};
HF_ON_ALL_PORTS(AnnotationTest);

struct Service {
  explicit Service(Stand& stand, AnnotationOptions options = {})
      : client(stand.runtime, stand.network, stand.options()), lock(client, options, "k") {}
  Service(Stand& stand, Relay& relay, AnnotationOptions options = {})
      : client(stand.runtime, stand.network, stand.options(relay.endpoint())), lock(client, options, "k") {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  redis::Client client;
  AnnotationLock lock;
};

TEST_P(AnnotationTest, LocksAndUnlocks) {
  run([](Stand& stand) {
    Service a(stand), b(stand);
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
  run([](Stand& stand) {
    Service a(stand), b(stand, {.timeout_for_lock = 250ms});
    a.lock.lock();
    const MonotonicTime start = stand.runtime.now();
    EXPECT_THROW(b.lock.lock(), WaitTimeout);
    EXPECT_GE(stand.runtime.now() - start, 250ms);
    EXPECT_FALSE(b.lock.is_held_by_me());
    a.lock.unlock();
    b.lock.lock();
  });
}

TEST_P(AnnotationTest, AnEndOfTheLeaseIsOnlyLogged) {
  run([](Stand& stand) {
    Witness witness(stand.runtime);
    Service a(stand, {.expired_time = 900ms, .observer = &witness}), b(stand);
    a.lock.lock();
    EXPECT_LE(a.ask({"PTTL", "lock:k"}).integer, 1000);  // whole seconds
    a.ask({"DEL", "lock:k"});                            // the lease ends
    b.lock.lock();
    EXPECT_TRUE(a.lock.is_held_by_me());
    EXPECT_NO_THROW(a.lock.unlock());
    EXPECT_EQ(witness.count(Kind::lost), 1u);
    EXPECT_EQ(witness.count(Kind::released), 0u);
    EXPECT_EQ(b.ask({"GET", "lock:k"}).text, b.lock.acquisition());
  });
}

TEST_P(AnnotationTest, GetThenDelRemovesTheKeyOfSomebodyElse) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    Service a(stand, relay), b(stand);
    a.lock.lock();
    relay.hold_request("\r\nDEL\r\n");
    Task thief = stand.runtime.spawn("client", [&] {
      relay.wait_held();
      b.ask({"DEL", "lock:k"});  // the lease ends
      EXPECT_TRUE(b.lock.try_lock());
      relay.release_request();
    });
    a.lock.unlock();
    thief.join();
    EXPECT_EQ(b.ask({"EXISTS", "lock:k"}).integer, 0);
  });
}

TEST_P(AnnotationTest, LocksItselfOutWhenAReplyIsLost) {
  run([](Stand& stand) {
    Relay relay(stand.runtime, stand.network, stand.redis);
    Service a(stand, relay);
    relay.lose_reply_to("\r\nSET\r\n");
    EXPECT_THROW(a.lock.try_lock(), Unavailable);
    EXPECT_FALSE(a.lock.try_lock());
    EXPECT_EQ(a.ask({"EXISTS", "lock:k"}).integer, 1);
  });
}

// The wait is counted on the wall clock.
TEST(AnnotationClock, AStepEndsAWait) {
  testing::on_stand(Where::embedded, [](Stand& stand) {
    Service a(stand), b(stand);
    a.lock.lock();
    const MonotonicTime start = stand.runtime.now();
    Task step = stand.runtime.spawn("client", [&] {
      stand.runtime.sleep_for(350ms);
      stand.step_wall(1h);
    });
    EXPECT_THROW(b.lock.lock(), WaitTimeout);
    EXPECT_LT(stand.runtime.now() - start, 1s);
    step.join();
  });
}

}  // namespace
}  // namespace holdfast::historic
