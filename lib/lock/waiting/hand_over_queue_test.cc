// Whom of those that wait for a lock of the reentrant family a release makes the holder: who listens, in
// turn, and what becomes of those that do not listen, have given up, or are taken for dead.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/testing/hand_over_scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Peer;
using testing::RelayedPeer;
using testing::Where;
using Kind = LockEvent::Kind;

constexpr const char* kQueue = testing::kHandOverQueue;
constexpr const char* kPatience = testing::kHandOverPatience;

class HandOverQueueTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
  // Only in virtual time a test can say how long something takes at most.
  static bool exact() { return GetParam() == Where::embedded; }
};

INSTANTIATE_TEST_SUITE_P(Ports, HandOverQueueTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// A queue for the script of a release, and a channel that hears its calls.
void queue_up(Peer<ReentrantLocks>& asker, const std::string& owner, const char* ticket) {
  const std::string alive_until = std::to_string(testing::server_ms(asker.client) + 60'000);
  asker.ask({"ZADD", kQueue, ticket, owner});
  asker.ask({"ZADD", kPatience, alive_until, owner});
  asker.ask({"PEXPIRE", kQueue, "60000"});
  asker.ask({"PEXPIRE", kPatience, "60000"});
}

std::unique_ptr<redis::Subscription> listen_as(Fixture& fixture, Peer<ReentrantLocks>& peer,
                                               const std::string& process) {
  std::atomic<bool> listens = false;
  auto subscription = peer.client.subscribe(
      "holdfast:wake:" + process, [](std::string_view) {}, [&] { listens = true; });
  while (!listens) fixture.runtime.sleep_for(1ms);
  return subscription;
}

// A SET that came late let it in while it stood in the queue: it is not served by its own release.
TEST_P(HandOverQueueTest, WhoReleasesIsNotServedByIt) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s});
    const auto b = listen_as(fixture, a, "b"), c = listen_as(fixture, a, "c");
    const std::vector<std::string_view> keys{"k", kQueue, kPatience}, args{"b:1"};
    a.ask({"SET", "k", "b:1", "PX", "60000"});
    queue_up(a, "b:1", "1.5");
    queue_up(a, "c:1", "2.5");
    const redis::Reply first = a.client.eval(kReentrantRelease, keys, args).reply;
    ASSERT_EQ(first.items.size(), 2u);
    EXPECT_EQ(first.items[1].text, "c:1");
    EXPECT_EQ(a.ask({"ZCARD", kPatience}).integer, 0);
    a.ask({"SET", "k", "b:1", "PX", "60000"});
    queue_up(a, "b:1", "1.5");
    EXPECT_EQ(a.client.eval(kReentrantRelease, keys, args).reply.integer, 1);
    for (const char* const name : {"k", kQueue, kPatience}) EXPECT_EQ(a.ask({"EXISTS", name}).integer, 0);
  });
}

// The first does not listen: the next one is served, and the first keeps its place for the next release.
TEST_P(HandOverQueueTest, WhoDoesNotListenKeepsItsPlace) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    queue_up(a, "deaf:1", "1.5");
    queue_up(a, "b:1", "2.5");
    queue_up(a, "c:1", "3.5");
    const auto b = listen_as(fixture, a, "b"), c = listen_as(fixture, a, "c");
    lock->unlock();
    EXPECT_EQ(a.ask({"GET", "k"}).text, "b:1");
    EXPECT_EQ(a.ask({"ZSCORE", kQueue, "deaf:1"}).text, "1.5");
    EXPECT_EQ(a.ask({"ZCARD", kQueue}).integer, 2);
    EXPECT_GT(a.ask({"PTTL", kQueue}).integer, 30'000);
    const auto deaf = listen_as(fixture, a, "deaf");
    const std::vector<std::string_view> keys{"k", kQueue, kPatience}, args{"b:1"};
    const redis::Reply next = a.client.eval(kReentrantRelease, keys, args).reply;
    ASSERT_EQ(next.items.size(), 2u);
    EXPECT_EQ(next.items[1].text, "deaf:1");
    EXPECT_EQ(a.ask({"GET", "k"}).text, "deaf:1");
  });
}

// The release takes it out of the queue, finds nobody else, and puts it back: into a new queue.
TEST_P(HandOverQueueTest, AQueueOfWhoDoesNotListenExpires) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    queue_up(a, "deaf:1", "1.5");
    lock->unlock();
    EXPECT_EQ(a.ask({"ZSCORE", kQueue, "deaf:1"}).text, "1.5");
    const std::int64_t left = a.ask({"PTTL", kQueue}).integer;
    EXPECT_GT(left, 30'000);
    EXPECT_LE(left, 60'000);
  });
}

// A fair waiter insists on its turn: nobody is served before it, as long as it is taken for alive.
TEST_P(HandOverQueueTest, AFairWaiterThatDoesNotListenIsNotPassedOver) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    queue_up(a, "deaf:1", "1");
    queue_up(a, "b:1", "2");
    const auto b = listen_as(fixture, a, "b");
    lock->unlock();
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
    EXPECT_EQ(a.ask({"ZRANGE", kQueue, "0", "-1"}).items.size(), 2u);
    // A reentrant lock does not wait for its turn when the lock is free.
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
    Peer<FairLocks> fair(fixture, {.lease = 60s});
    EXPECT_FALSE(fair.locks.obtain("k")->try_lock());
  });
}

// Waiters of both kinds stand in one queue, behind a holder of either.
TEST_P(HandOverQueueTest, ReentrantAndFairShareOneQueue) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    Peer<FairLocks> c(fixture, {.lease = 60s});
    const auto held = a.locks.obtain("k");
    held->lock();
    const MonotonicTime start = fixture.runtime.now();
    std::string order;
    Mutex mutex(fixture.runtime);
    const auto waits = [&](auto& peer, char name) {
      Task task = fixture.runtime.spawn("client", [&, name] {
        const auto lock = peer.locks.obtain("k");
        lock->lock();
        {
          const std::scoped_lock guard(mutex);
          order += name;
        }
        lock->unlock();
      });
      peer.observer.wait_for(Kind::queued, 2);
      return task;
    };
    Task fair = waits(c, 'c'), reentrant = waits(b, 'b');
    held->unlock();
    fair.join();
    reentrant.join();
    EXPECT_EQ(order, "cb");
    EXPECT_LT(fixture.runtime.now() - start, 30s);
  });
}

// Who gives up has left the queue before the caller is told: the lock is nobody's after the release.
TEST_P(HandOverQueueTest, WhoGaveUpFindsTheLockFree) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s});
    Peer<ReentrantLocks> b(fixture, {.lease = 60s}), c(fixture, {.lease = 60s});
    const auto held = a.locks.obtain("k"), wanted = b.locks.obtain("k");
    for (int round = 1; round <= 5; ++round) {
      held->lock();
      std::stop_source stop;
      Task waiter = fixture.runtime.spawn(
          "client", [&] { EXPECT_THROW(wanted->lock_interruptibly(stop.get_token()), Interrupted); });
      b.observer.wait_for(Kind::waiting, static_cast<std::size_t>(round));
      stop.request_stop();
      waiter.join();
      held->unlock();
      const auto lock = round % 2 == 0 ? wanted : c.locks.obtain("k");
      EXPECT_TRUE(lock->try_lock());
      lock->unlock();
    }
  });
}

// A request of somebody who has given up arrives late, and a release makes that one the holder: its process
// gives the lock back at once.
TEST_P(HandOverQueueTest, ACallForWhoGaveUpIsAnswered) {
  run([](Fixture& fixture) {
    testing::HandOverScene<ReentrantLocks> scene(fixture, {.lease = 600s}, {.lease = 600s});
    const std::string owner = scene.a.ask({"ZRANGE", kQueue, "0", "0"}).items.at(0).text;
    std::stop_source stop;
    Peer<ReentrantLocks> c(fixture, {.lease = 600s});
    scene.held->unlock();
    scene.waiter.join();
    scene.held->lock();
    Task impatient = fixture.runtime.spawn(
        "client", [&] { EXPECT_THROW(scene.wanted->lock_interruptibly(stop.get_token()), Interrupted); });
    while (scene.a.ask({"ZCARD", kQueue}).integer != 1) fixture.runtime.sleep_for(1ms);
    const std::string gone = scene.a.ask({"ZRANGE", kQueue, "0", "0"}).items.at(0).text;
    stop.request_stop();
    impatient.join();
    const std::vector<std::string_view> keys{"k", kQueue, kPatience}, args{gone, "600000", "0", "1"};
    EXPECT_EQ(scene.a.client.eval(kReentrantAcquire, keys, args).reply.items.at(0).integer, 0);
    const MonotonicTime released = fixture.runtime.now();
    scene.held->unlock();
    const auto lock = c.locks.obtain("k");
    EXPECT_TRUE(lock->try_lock_for(300s));
    EXPECT_LT(fixture.runtime.now() - released, 100s);
    if (exact()) {
      EXPECT_LT(fixture.runtime.now() - released, 10ms);
    }
    lock->unlock();
  });
}

// The lock comes with the call, and after such a release a plain SET would be refused: two commands a turn.
TEST_P(HandOverQueueTest, CommandsATurnAmongProcesses) {
  run([](Fixture& fixture) {
    if (!exact()) return;  // elsewhere the turns are not strict
    constexpr int kTurns = 50;
    RelayedPeer<ReentrantLocks> a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s});
    a.peer.ask({"SCRIPT", "LOAD", kReentrantAcquire.text});
    a.peer.ask({"SCRIPT", "LOAD", kReentrantRelease.text});
    b.peer.ask({"PING"});
    a.link.count("*");
    b.link.count("*");
    {
      std::list<Task> tasks;
      for (auto* peer : {&a, &b}) {
        tasks.push_back(fixture.runtime.spawn("client", [&fixture, peer] {
          const auto lock = peer->peer.locks.obtain("k");
          for (int turn = 0; turn < kTurns; ++turn) {
            lock->lock();
            fixture.runtime.sleep_for(1ms);
            lock->unlock();
          }
        }));
      }
    }
    EXPECT_LE(a.link.counted() + b.link.counted(), 2 * 2 * kTurns + 10);
    EXPECT_GE(a.link.counted() + b.link.counted(), 2 * 2 * kTurns);
  });
}

// One that has not asked for too long is no holder, though its process listens: it is told to ask.
TEST_P(HandOverQueueTest, WhoIsTakenForDeadIsToldToAsk) {
  run([](Fixture& fixture) {
    redis::Client straight(fixture.runtime, fixture.network, fixture.options());
    const std::string process = "11111111-2222-4333-8444-555555555555";
    Mutex mutex(fixture.runtime);
    Condition changed(fixture.runtime);
    bool listens = false;
    std::string heard;
    const auto subscription = straight.subscribe(
        "holdfast:wake:" + process,
        [&](std::string_view message) {
          const std::scoped_lock guard(mutex);
          heard = message;
          changed.notify_all();
        },
        [&] {
          const std::scoped_lock guard(mutex);
          listens = true;
          changed.notify_all();
        });
    std::unique_lock guard(mutex);
    changed.wait_until(guard, kNever, [&] { return listens; });
    guard.unlock();
    const std::string past = std::to_string(testing::server_ms(straight) - 1);
    testing::ask(straight, {"SET", "k", "me:1", "PX", "60000"});
    testing::ask(straight, {"ZADD", kQueue, "1", process + ":7"});
    testing::ask(straight, {"ZADD", kPatience, past, process + ":7"});
    const Wire wire = fair_wire("k", {});
    const std::vector<std::string_view> keys(wire.release_keys.begin(), wire.release_keys.end());
    const std::vector<std::string_view> me{"me:1"};
    EXPECT_EQ(straight.eval(kReentrantRelease, keys, me).reply.integer, 1);
    EXPECT_EQ(testing::ask(straight, {"EXISTS", "k", kQueue, kPatience}).integer, 0);
    guard.lock();
    changed.wait_until(guard, kNever, [&] { return !heard.empty(); });
    EXPECT_EQ(heard, process + ":7 0");
  });
}

// Two kinds that share a record: who is handed it by one without tokens draws one that is greater than all
// before.
TEST_P(HandOverQueueTest, ATokenFromAHolderThatHasNone) {
  run([](Fixture& fixture) {
    Peer<FairLocks> before(fixture, {.lease = 60s, .fencing = true});
    const auto first = before.locks.obtain("k");
    first->lock();
    const std::uint64_t token = first->token().value();
    first->release();
    // Ahead of the server's clock.
    before.ask({"SET", "holdfast:token:{k}", std::to_string(token + 1'000'000'000), "PX", "60000"});
    testing::HandOverScene<FairLocks> scene(fixture, {.lease = 60s}, {.lease = 60s, .fencing = true});
    std::uint64_t drawn = 0;
    scene.inside = [&] { drawn = scene.wanted->token().value_or(0); };
    scene.asks_after_release(kReentrantAcquire);
    EXPECT_GT(drawn, token + 1'000'000'000);
  });
}

}  // namespace
}  // namespace holdfast
