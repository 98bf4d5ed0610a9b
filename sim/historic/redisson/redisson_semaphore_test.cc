// Redisson's semaphore and count-down latch: what they write, and the flaws for which they are kept.
#include "sim/historic/redisson/redisson_semaphore.h"

#include <gtest/gtest.h>

#include <atomic>

#include "lib/testing/faulty_link.h"
#include "lib/testing/fixture.h"
#include "sim/historic/redisson/redisson_count_down_latch.h"

namespace holdfast::historic {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class RedissonSemaphoreTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};
class RedissonCountDownLatchTest : public RedissonSemaphoreTest {};

const auto kName = [](const auto& info) { return testing::to_string(info.param); };
INSTANTIATE_TEST_SUITE_P(Ports, RedissonSemaphoreTest, ::testing::ValuesIn(testing::everywhere()), kName);
INSTANTIATE_TEST_SUITE_P(Ports, RedissonCountDownLatchTest, ::testing::ValuesIn(testing::everywhere()),
                         kName);

struct Peer {
  explicit Peer(Fixture& fixture, LockOptions options = {}) : Peer(fixture, fixture.options(), options) {}
  Peer(Fixture& fixture, redis::ClientOptions client_options, LockOptions options = {})
      : client(fixture.runtime, fixture.network, std::move(client_options)),
        redisson(std::make_shared<Redisson>(client, options)),
        semaphore(redisson, "k"),
        latch(redisson, "l") {}
  redis::Reply ask(std::initializer_list<std::string_view> command) { return client.call(command).reply; }
  bool take() { return semaphore.try_acquire().reply.integer == 1; }
  void wait_subscribed(Runtime& runtime, std::string_view channel) {
    while (ask({"PUBSUB", "NUMSUB", channel}).items[1].integer == 0) runtime.sleep_for(1ms);
  }
  redis::Client client;
  std::shared_ptr<Redisson> redisson;
  RedissonSemaphore semaphore;
  RedissonCountDownLatch latch;
};

constexpr std::string_view kPermits = "redisson_sc:{k}";
constexpr std::string_view kGate = "redisson_countdownlatch__channel__{l}";

TEST_P(RedissonSemaphoreTest, IsANumber) {
  run([](Fixture& fixture) {
    Peer a(fixture), b(fixture);
    EXPECT_FALSE(a.take()) << "before there are any";
    EXPECT_TRUE(a.semaphore.try_set_permits(2));
    EXPECT_FALSE(b.semaphore.try_set_permits(5));
    EXPECT_EQ(a.ask({"GET", "k"}).text, "2");
    EXPECT_EQ(a.ask({"PTTL", "k"}).integer, -1);
    EXPECT_TRUE(a.take());
    EXPECT_TRUE(b.take());
    EXPECT_FALSE(b.take());
    EXPECT_EQ(a.semaphore.available(), 0);
    a.semaphore.release();
    EXPECT_EQ(b.semaphore.available(), 1);
    EXPECT_EQ(b.semaphore.try_acquire(2).reply.integer, 0);
  });
}

TEST_P(RedissonSemaphoreTest, AReleaseWakesAWaiter) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer});
    a.semaphore.try_set_permits(1);
    EXPECT_TRUE(a.take());
    EXPECT_EQ(b.semaphore.try_acquire_for(50ms).reply.integer, 0);
    const std::size_t waits = observer.count(Kind::waiting);
    Task waiter = fixture.runtime.spawn("client", [&] { EXPECT_EQ(b.semaphore.acquire().reply.integer, 1); });
    observer.wait_for(Kind::waiting, waits + 1);
    a.wait_subscribed(fixture.runtime, kPermits);
    a.semaphore.release();
    waiter.join();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(b.semaphore.try_acquire_for(1h, 1, stop.get_token())), Interrupted);
  });
}

// Nobody has it, nobody gives it back, and there is no lease: what a dead client took is gone.
TEST_P(RedissonSemaphoreTest, APermitHasNoOwnerAndNoLease) {
  run([](Fixture& fixture) {
    Peer b(fixture);
    {
      Peer dies(fixture, {.lease = 50ms});
      dies.semaphore.try_set_permits(1);
      EXPECT_TRUE(dies.take());
    }
    EXPECT_EQ(b.semaphore.try_acquire_for(200ms).reply.integer, 0);
    b.semaphore.release();  // of somebody who took none
    b.semaphore.release();
    EXPECT_EQ(b.semaphore.available(), 2) << "more than there ever were";
  });
}

TEST_P(RedissonSemaphoreTest, ALostReplyCountsTwice) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Peer a(fixture, fixture.options(link.endpoint())), b(fixture);
    b.semaphore.try_set_permits(3);
    EXPECT_TRUE(b.take());
    b.semaphore.release();  // the server knows the scripts
    link.lose_reply_to("\r\nk\r\n");
    EXPECT_TRUE(a.take());
    EXPECT_EQ(b.semaphore.available(), 1) << "one permit, two are gone";
    link.lose_reply_to("redisson_sc");
    a.semaphore.release();
    EXPECT_EQ(b.semaphore.available(), 3) << "and two come back";
  });
}

// A message that does not come: acquire() waits beside a free permit.
TEST_P(RedissonSemaphoreTest, WithoutAMessageItWaitsBesideAFreePermit) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer});
    a.semaphore.try_set_permits(1);
    EXPECT_TRUE(a.take());
    std::atomic<bool> granted = false;
    Task waiter = fixture.runtime.spawn("client", [&] {
      b.semaphore.acquire();
      granted = true;
    });
    observer.wait_for(Kind::waiting);
    a.wait_subscribed(fixture.runtime, kPermits);
    fixture.runtime.sleep_for(100ms);  // it has looked again, and parked
    a.ask({"SET", "k", "1"});
    fixture.runtime.sleep_for(500ms);
    EXPECT_FALSE(granted);
    a.ask({"PUBLISH", kPermits, "1"});
    waiter.join();
    EXPECT_TRUE(granted);
  });
}

TEST_P(RedissonCountDownLatchTest, CountsDownAndOpens) {
  run([](Fixture& fixture) {
    RecordingObserver observer(fixture.runtime);
    Peer a(fixture), b(fixture, {.observer = &observer});
    EXPECT_TRUE(a.latch.try_set_count(2));
    EXPECT_FALSE(b.latch.try_set_count(7));
    EXPECT_EQ(a.ask({"GET", "l"}).text, "2");
    EXPECT_FALSE(b.latch.await_for(50ms));
    const std::size_t waits = observer.count(Kind::waiting);
    Task waiter = fixture.runtime.spawn("client", [&] { b.latch.await(); });
    observer.wait_for(Kind::waiting, waits + 1);
    a.wait_subscribed(fixture.runtime, kGate);
    a.latch.count_down();
    EXPECT_EQ(b.latch.count(), 1);
    a.latch.count_down();
    waiter.join();
    EXPECT_EQ(a.ask({"EXISTS", "l"}).integer, 0);
    EXPECT_EQ(b.latch.count(), 0);
    std::stop_source stop;
    stop.request_stop();
    a.latch.try_set_count(1);
    EXPECT_THROW(static_cast<void>(b.latch.await_for(1h, stop.get_token())), Interrupted);
  });
}

TEST_P(RedissonCountDownLatchTest, AMissingKeyIsAnOpenLatch) {
  run([](Fixture& fixture) {
    Peer a(fixture);
    EXPECT_TRUE(a.latch.await_for(0ms)) << "nobody has set it";
    a.latch.count_down();
    EXPECT_TRUE(a.latch.try_set_count(1)) << "what was counted down before is forgotten";
    EXPECT_FALSE(a.latch.await_for(10ms));
    a.ask({"DEL", "l"});
    EXPECT_TRUE(a.latch.await_for(0ms)) << "lost with its server";
  });
}

TEST_P(RedissonCountDownLatchTest, ALostReplyCountsTwice) {
  run([](Fixture& fixture) {
    testing::FaultyLink link(fixture.runtime, fixture.network, fixture.redis);
    Peer a(fixture, fixture.options(link.endpoint())), b(fixture);
    b.latch.try_set_count(3);
    b.latch.count_down();  // the server knows the scripts
    link.lose_reply_to("countdownlatch");
    a.latch.count_down();
    EXPECT_TRUE(b.latch.await_for(0ms)) << "open after two of three";
  });
}

}  // namespace
}  // namespace holdfast::historic
