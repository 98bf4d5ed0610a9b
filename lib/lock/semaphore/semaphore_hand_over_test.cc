// How permits get from who gives them back to those who wait in other processes: the release makes them
// holders, in their order.
#include <gtest/gtest.h>

#include <list>
#include <string>
#include <vector>

#include "lib/lock/semaphore/permit_semaphore.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;
using Peer = testing::PeerOf<Semaphores, SemaphoreOptions>;

constexpr const char* kQueue = "holdfast:semaphore:queue:{k}";

class SemaphoreHandOver : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_scripts(GetParam(), {&kSemaphoreAcquire, &kSemaphoreRelease}, body);
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, SemaphoreHandOver, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

SemaphoreOptions of(int permits, bool fencing = false) {
  return {.lock = {.lease = 60s, .fencing = fencing}, .permits = permits};
}

// A process that wants `permits` of "k", and gives them back when it is told to.
struct Waiter {
  Waiter(Fixture& fixture, int wanted, const SemaphoreOptions& options)
      : peer(fixture, options), granted(fixture.runtime), enough(fixture.runtime), semaphore(peer.obtain()) {
    task = fixture.runtime.spawn("client", [this, wanted] {
      semaphore->acquire(wanted);
      token = semaphore->token().value_or(0);
      owner = semaphore->acquisition();
      granted.give();
      enough.wait();
      semaphore->release();
    });
    peer.observer.wait_for(Kind::queued, 2);  // a waiter that listens looks once more
    peer.link.count(std::string(kSemaphoreAcquire.sha1));
  }
  Peer peer;
  Sign granted, enough;
  std::shared_ptr<Semaphore> semaphore;
  std::uint64_t token = 0;
  std::string owner;
  Task task;
};

void queue_up(redis::Client& client, const std::string& owner, int ticket, std::int64_t alive_until_ms,
              const std::string& wants) {
  ask(client, {"ZADD", kQueue, std::to_string(ticket), owner});
  ask(client, {"ZADD", "holdfast:semaphore:patience:{k}", std::to_string(alive_until_ms), owner});
  ask(client, {"HSET", "holdfast:semaphore:wants:{k}", owner, wants});
}

// Its process listens, but has not asked for longer than its patience: it is told to ask, and gets nothing.
TEST_P(SemaphoreHandOver, WhoHasStoppedAskingGetsNoPermits) {
  run([](Fixture& fixture, redis::Client& straight) {
    const std::string process = "11111111-2222-4333-8444-555555555555", owner = process + ":7";
    Sign listens(fixture.runtime), told(fixture.runtime);
    std::string heard;
    const auto subscription = straight.subscribe(
        "holdfast:wake:" + process,
        [&](std::string_view message) {
          heard = message;
          told.give();
        },
        [&] { listens.give(); });
    listens.wait();
    Peer a(fixture, of(1)), b(fixture, of(1));
    const auto held = a.obtain();
    held->acquire();
    queue_up(straight, owner, 1, testing::server_ms(straight) - 1, "1 1");
    held->release();
    told.wait();
    EXPECT_EQ(heard, owner + " 0");
    EXPECT_EQ(ask(straight, {"DBSIZE"}).integer, 0);
    EXPECT_TRUE(b.obtain()->try_acquire());
  });
}

TEST_P(SemaphoreHandOver, TheReleaseMakesTheFirstOnesHolders) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(3, true));
    const auto held = a.obtain();
    held->acquire(3);
    EXPECT_TRUE(held->token());
    Waiter b(fixture, 2, of(3, true)), c(fixture, 1, of(3, true)), d(fixture, 1, of(3, true));
    ask(straight, {"SET", "holdfast:token:{k}", "9000000000000000"});  // ahead of a clock that was set back
    held->release();
    b.granted.wait();
    c.granted.wait();
    EXPECT_EQ(b.token, 9'000'000'000'000'001u);
    EXPECT_EQ(c.token, 9'000'000'000'000'002u);
    EXPECT_EQ(ask(straight, {"HGET", "holdfast:semaphore:taken:{k}", b.owner}).text, "2");
    EXPECT_EQ(ask(straight, {"ZCARD", "k"}).integer, 2);
    EXPECT_EQ(ask(straight, {"ZCARD", kQueue}).integer, 1);
    EXPECT_EQ(d.granted.given(), 0);
    for (Waiter* waiter : {&b, &c, &d}) waiter->enough.give();
    for (Waiter* waiter : {&b, &c, &d}) waiter->task.join();
    EXPECT_GT(d.token, 0u);
    for (Waiter* waiter : {&b, &c, &d}) EXPECT_EQ(waiter->peer.link.counted(), 0);
    EXPECT_EQ(ask(straight, {"KEYS", "*"}).items.size(), 1u);  // the last token
  });
}

TEST_P(SemaphoreHandOver, WhoWantsManyIsNotOvertaken) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(3));
    const auto held = a.obtain();
    held->acquire(2);
    held->acquire(1);
    Waiter many(fixture, 3, of(3)), few(fixture, 1, of(3));
    held->release();
    EXPECT_FALSE(a.obtain()->try_acquire());
    EXPECT_EQ(few.granted.given(), 0);
    held->release();
    many.granted.wait();
    EXPECT_EQ(few.granted.given(), 0);
    many.enough.give();
    few.granted.wait();
    few.enough.give();
  });
}

// Who gives up wanted more than there is: what is free goes to those behind it, and nobody has to ask.
TEST_P(SemaphoreHandOver, WhoGivesUpLetsInThoseBehind) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture, of(3)), b(fixture, of(3));
    const auto held = a.obtain();
    held->acquire(2);
    std::stop_source gives_up;
    const auto wants_all = b.obtain();
    Task many = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(wants_all->try_acquire_for(60s, 3, gives_up.get_token())), Interrupted);
    });
    b.observer.wait_for(Kind::queued, 2);
    Waiter few(fixture, 1, of(3));
    EXPECT_EQ(few.granted.given(), 0);
    gives_up.request_stop();
    many.join();
    few.granted.wait();
    EXPECT_EQ(few.peer.link.counted(), 0);
    few.enough.give();
    few.task.join();
    held->release();
  });
}

// Who does not listen keeps its place, and holds up nobody.
TEST_P(SemaphoreHandOver, WhoDoesNotListenIsPassedOver) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(1));
    const auto held = a.obtain();
    held->acquire();
    queue_up(straight, "deaf:1", 1, testing::server_ms(straight) + 60'000, "1 1");
    Waiter b(fixture, 1, of(1));
    held->release();
    b.granted.wait();
    EXPECT_EQ(ask(straight, {"ZRANGE", kQueue, "0", "-1"}).items.at(0).text, "deaf:1");
    b.enough.give();
    b.task.join();
    EXPECT_TRUE(held->try_acquire());  // nobody took what could be its
    held->release();
  });
}

// What is free is too little for it, and is kept for it.
TEST_P(SemaphoreHandOver, WhoWaitsBehindADeadOneIsNotOvertaken) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(2)), b(fixture, of(2));
    const auto held = a.obtain();
    held->acquire();
    const std::int64_t now = testing::server_ms(straight);
    queue_up(straight, "dead:1", 1, now - 1, "1 2");
    queue_up(straight, "alive:1", 2, now + 60'000, "2 2");
    EXPECT_FALSE(b.obtain()->try_acquire());
    const redis::Reply queue = ask(straight, {"ZRANGE", kQueue, "0", "-1"});
    ASSERT_EQ(queue.items.size(), 1u);
    EXPECT_EQ(queue.items[0].text, "alive:1");
    held->release();
  });
}

// By more permits: who may get what it wants, and who never will, is told to ask; nobody behind the first one
// that has to wait on.
TEST_P(SemaphoreHandOver, WhoIsToldOfMorePermits) {
  run([](Fixture& fixture, redis::Client& straight) {
    const std::string process = "11111111-2222-4333-8444-555555555555", channel = "holdfast:wake:" + process;
    Sign listens(fixture.runtime), told(fixture.runtime);
    std::vector<std::string> heard;
    const auto subscription = straight.subscribe(
        channel,
        [&](std::string_view message) {
          heard.emplace_back(message);
          told.give();
        },
        [&] { listens.give(); });
    listens.wait();
    Peer a(fixture, of(1));
    const auto held = a.obtain();
    held->acquire();
    const std::int64_t alive_until = testing::server_ms(straight) + 60'000;
    int ticket = 0;
    for (const char* wants : {"5 1", "2 1", "1 1", "1 1"}) {
      ++ticket;
      queue_up(straight, process + ":" + std::to_string(ticket), ticket, alive_until, wants);
    }
    held->set_permits(3);
    ask(straight, {"PUBLISH", channel, "all"});
    told.wait(3);
    EXPECT_EQ(heard, (std::vector<std::string>{process + ":1 0", process + ":2 0", "all"}));
    held->release();
  });
}

// A permit is not renewed, and so is a whole lease from the grant on: who was made the holder asks once.
TEST_P(SemaphoreHandOver, APermitIsAWholeLease) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, of(1));
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    PermitSemaphore semaphore(client, "k", of(1));
    const auto held = a.obtain();
    held->acquire();
    MonotonicTime released{}, valid_until{};
    Task task = fixture.runtime.spawn("client", [&] {
      const Permit permit = semaphore.acquire();
      valid_until = permit.valid_until;
      EXPECT_TRUE(semaphore.release(permit.id));
    });
    while (ask(straight, {"ZCARD", kQueue}).integer != 1) fixture.runtime.sleep_for(1ms);
    fixture.runtime.sleep_for(50ms);
    released = fixture.runtime.now();
    held->release();
    task.join();
    EXPECT_GT(valid_until, released + 59s);
  });
}

// Long before the leases end: they are told.
TEST(SemaphoreHandOverInVirtualTime, MorePermitsAreForThoseWhoWait) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Peer a(fixture, of(1));
    const auto held = a.obtain();
    held->acquire(1);
    Waiter b(fixture, 1, of(1)), c(fixture, 1, of(1));
    const MonotonicTime before = fixture.runtime.now();
    held->set_permits(3);
    b.granted.wait();
    c.granted.wait();
    EXPECT_LT(fixture.runtime.now() - before, 1s);
    for (Waiter* waiter : {&b, &c}) waiter->enough.give();
    for (Waiter* waiter : {&b, &c}) waiter->task.join();
    held->release();
  });
}

}  // namespace
}  // namespace holdfast
