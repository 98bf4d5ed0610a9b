// The count-down latch on every pair of ports and Redis: counting once, waiting, vanishing, reuse.
#include "lib/lock/latch/count_down_latch.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <limits>
#include <list>

#include "lib/lock/latch/latch_scripts.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::Fixture;
using testing::Sign;
using testing::Where;

class CountDownLatchTest : public ::testing::TestWithParam<Where> {
 protected:
  // `straight` goes past the relays.
  static void run(const std::function<void(Fixture&, redis::Client&)>& body) {
    testing::with_scripts(GetParam(), {&kLatchSet, &kLatchCountDown}, body);
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, CountDownLatchTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

constexpr CountDownLatch::Options kOptions{.lifetime = 60s, .look_again = 30s};

struct Peer {
  explicit Peer(Fixture& fixture, CountDownLatch::Options options = kOptions)
      : link(fixture.runtime, fixture.network, fixture.redis),
        client(fixture.runtime, fixture.network, fixture.options(link.endpoint())),
        latch(client, "k", options) {}
  testing::FaultyLink link;
  redis::Client client;
  CountDownLatch latch;
};

std::string sha1(const redis::Script& script) { return std::string(script.sha1); }

// [parks] Until so many tasks wait for a message of the latch.
void wait_for_waiters(Fixture& fixture, redis::Client& client, std::int64_t clients) {
  const auto listening = [&] {
    return ask(client, {"PUBSUB", "NUMSUB", "holdfast:latch:channel:{k}"}).items.at(1).integer;
  };
  while (listening() != clients) fixture.runtime.sleep_for(1ms);
}

TEST_P(CountDownLatchTest, Layout) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture);
    Sign subscribed(fixture.runtime), messages(fixture.runtime);
    Mutex mutex(fixture.runtime);
    std::string said;
    const auto subscription = straight.subscribe(
        "holdfast:latch:channel:{k}",
        [&](std::string_view payload) {
          const std::scoped_lock guard(mutex);
          said += payload;
          messages.give();
        },
        [&] { subscribed.give(); });
    subscribed.wait();
    EXPECT_TRUE(a.latch.set(2));
    EXPECT_EQ(ask(straight, {"HGET", "k", "left"}).text, "2");
    EXPECT_EQ(ask(straight, {"HLEN", "k"}).integer, 2);
    EXPECT_EQ(a.latch.count_down(), 1);
    ask(straight, {"PUBLISH", "holdfast:latch:channel:{k}", "-"});
    EXPECT_EQ(ask(straight, {"SCARD", "holdfast:latch:counted:{k}"}).integer, 1);
    EXPECT_EQ(a.latch.count_down(), 0);
    for (const std::string_view name : {"k", "holdfast:latch:counted:{k}"}) {
      const std::int64_t left = ask(straight, {"PTTL", name}).integer;
      EXPECT_GT(left, 0) << name;
      EXPECT_LE(left, 60000) << name;
    }
    messages.wait(3);
    const std::scoped_lock guard(mutex);
    EXPECT_EQ(said, "2-0");  // nobody is called before it is open
  });
}

TEST_P(CountDownLatchTest, CountsDownToZeroAndNoFurther) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture), b(fixture);
    EXPECT_EQ(a.latch.count(), std::nullopt);
    EXPECT_EQ(a.latch.count_down(), std::nullopt);
    EXPECT_TRUE(a.latch.set(3));
    EXPECT_FALSE(b.latch.set(5));  // one is running
    EXPECT_EQ(a.latch.count_down(), 2);
    EXPECT_FALSE(a.latch.set(5));
    EXPECT_EQ(b.latch.count_down(), 1);
    EXPECT_EQ(b.latch.count(), 1);
    EXPECT_EQ(a.latch.count_down(), 0);
    EXPECT_EQ(a.latch.count_down(), 0);
    EXPECT_EQ(b.latch.count(), 0);
    EXPECT_TRUE(b.latch.set(2));  // open: used again
    EXPECT_EQ(a.latch.count_down(), 1);
    EXPECT_THROW(a.latch.set(0), std::invalid_argument);
    EXPECT_THROW(a.latch.set(-3), std::invalid_argument);
    EXPECT_THROW(CountDownLatch(a.client, ""), std::invalid_argument);
    EXPECT_THROW(CountDownLatch(a.client, "k", {.lifetime = 0ms}), std::invalid_argument);
    EXPECT_THROW(CountDownLatch(a.client, "k", {.look_again = 0ms}), std::invalid_argument);
  });
}

TEST_P(CountDownLatchTest, LostRepliesCountOnce) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture);
    a.link.lose_reply_to(sha1(kLatchSet), 2);
    EXPECT_TRUE(a.latch.set(5));
    a.link.lose_reply_to(sha1(kLatchCountDown), 3);
    EXPECT_EQ(a.latch.count_down(), 4);
    EXPECT_EQ(a.latch.count_down(), 3);
    a.link.lose_reply_to("HMGET", 2);
    EXPECT_EQ(a.latch.count(), 3);
    EXPECT_EQ(a.latch.count_down(), 2);
    EXPECT_EQ(a.latch.count_down(), 1);
    a.link.lose_reply_to(sha1(kLatchCountDown), 2);  // of the last one
    EXPECT_EQ(a.latch.count_down(), 0);
    EXPECT_EQ(a.latch.count(), 0);
  });
}

// The request that opened the latch is repeated when the latch has been set anew: it counted before.
TEST_P(CountDownLatchTest, ALateRepetitionDoesNotCountOnTheNextCount) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture), b(fixture);
    a.latch.set(1);
    a.link.lose_reply_to(sha1(kLatchCountDown));
    Task again = fixture.runtime.spawn("client", [&] {
      while (b.latch.count() != 0) fixture.runtime.yield();
      a.link.stall(true);
      EXPECT_TRUE(b.latch.set(3));
      a.link.stall(false);
    });
    const std::optional<std::int64_t> left = a.latch.count_down();
    EXPECT_TRUE(left == 3 || left == 0);  // 0: the repetition was faster, on threads
    again.join();
    EXPECT_EQ(b.latch.count(), 3);
    EXPECT_EQ(b.latch.count_down(), 2);
    for (const std::string_view name :
         {"k", "holdfast:latch:counted:{k}", "holdfast:latch:counted-before:{k}"}) {
      EXPECT_GT(ask(straight, {"PTTL", name}).integer, 0) << name;
    }
    EXPECT_EQ(b.latch.count_down(), 1);
    EXPECT_EQ(b.latch.count_down(), 0);
    EXPECT_TRUE(b.latch.set(1));  // only the count before last is remembered
    EXPECT_EQ(ask(straight, {"SCARD", "holdfast:latch:counted-before:{k}"}).integer, 3);
  });
}

TEST_P(CountDownLatchTest, SeveralWaitersInSeveralProcesses) {
  run([](Fixture& fixture, redis::Client& straight) {
    std::list<Peer> peers;
    for (int i = 0; i < 3; ++i) peers.emplace_back(fixture);
    const MonotonicTime start = fixture.runtime.now();
    std::atomic<int> open = 0;
    std::list<Task> tasks;
    for (Peer& peer : peers) {
      for (int i = 0; i < 3; ++i) {
        tasks.push_back(fixture.runtime.spawn("client", [&] {
          peer.latch.await();  // before it is set
          ++open;
        }));
      }
    }
    wait_for_waiters(fixture, straight, 3);
    EXPECT_EQ(open, 0);
    EXPECT_TRUE(peers.front().latch.set(3));
    for (Peer& peer : peers) {
      EXPECT_EQ(open, 0);
      peer.latch.count_down();
    }
    tasks.clear();  // joins
    EXPECT_EQ(open, 9);
    peers.front().latch.await();  // on an open one: at once
    EXPECT_TRUE(peers.front().latch.await_until(MonotonicTime::min()));
    EXPECT_LT(fixture.runtime.now() - start, 30s);
  });
}

TEST_P(CountDownLatchTest, DeadlineAndStop) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture);
    EXPECT_EQ(a.latch.count(), std::nullopt);  // connected: what follows is the wait alone
    EXPECT_FALSE(a.latch.await_for(100ms));    // there is none
    a.latch.set(1);
    EXPECT_FALSE(a.latch.await_until(MonotonicTime::min()));
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_FALSE(a.latch.await_for(100ms));
    EXPECT_GE(fixture.runtime.now() - start, 100ms);
    std::stop_source stop;
    Task waiter = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(a.latch.await_until(kNever, stop.get_token())), Interrupted);
    });
    wait_for_waiters(fixture, straight, 1);
    stop.request_stop();
    waiter.join();
    EXPECT_THROW(static_cast<void>(a.latch.await_for(1s, stop.get_token())), Interrupted);
  });
}

TEST_P(CountDownLatchTest, AnUnreachableServerEndsTheWaitAtItsDeadline) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture);
    a.latch.set(1);
    a.link.stall(true);
    const MonotonicTime start = fixture.runtime.now();
    EXPECT_THROW(static_cast<void>(a.latch.await_for(100ms)), Unavailable);
    EXPECT_GE(fixture.runtime.now() - start, 100ms);
    if (fixture.where == Where::embedded) {
      EXPECT_LE(fixture.runtime.now() - start, 101ms);
    }
    EXPECT_THROW(a.latch.await(), Unavailable);
    EXPECT_GE(fixture.runtime.now() - start, a.client.options().command_timeout);
    a.link.stall(false);
  });
}

TEST_P(CountDownLatchTest, AVanishedLatchIsNoOpenOne) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lifetime = 60s, .look_again = 100ms});
    a.latch.set(2);
    Task waiter = fixture.runtime.spawn("client", [&] { EXPECT_THROW(a.latch.await(), LatchGone); });
    wait_for_waiters(fixture, straight, 1);
    ask(straight, {"DEL", "k"});  // as a failover does, or a restart
    waiter.join();
    wait_for_waiters(fixture, straight, 0);  // else the next one would be taken for there already
    // The waiter looks when it has been set again: still not the one that it waits for.
    a.latch.set(2);
    Peer b(fixture);
    Task other = fixture.runtime.spawn("client", [&] { EXPECT_THROW(b.latch.await(), LatchGone); });
    wait_for_waiters(fixture, straight, 1);
    ask(straight, {"DEL", "k"});
    a.latch.set(2);  // wakes it
    other.join();
    EXPECT_EQ(a.latch.count(), 2);
  });
}

TEST_P(CountDownLatchTest, LifetimesAreKept) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lifetime = 200ms, .look_again = 50ms});
    a.latch.set(2);
    a.latch.count_down();
    EXPECT_THROW(a.latch.await(), LatchGone);
    EXPECT_EQ(a.latch.count(), std::nullopt);
    EXPECT_EQ(a.latch.count_down(), std::nullopt);
    a.latch.set(1);
    a.latch.count_down();
    a.latch.set(1);
    a.latch.count_down();
    a.latch.await();
    while (ask(straight, {"DBSIZE"}).integer > 0) fixture.runtime.sleep_for(10ms);  // all of it goes away
  });
}

// It opens and is set anew before a waiter has looked.
TEST_P(CountDownLatchTest, AnOpeningThatIsOverBeforeTheWaiterLooks) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture), b(fixture);
    a.latch.set(1);
    std::atomic<bool> open = false;
    Task waiter = fixture.runtime.spawn("client", [&] {
      b.latch.await();
      open = true;
    });
    wait_for_waiters(fixture, straight, 1);
    b.link.stall(true);
    a.latch.count_down();
    a.latch.set(5);
    EXPECT_FALSE(open);
    b.link.stall(false);
    waiter.join();
    EXPECT_EQ(a.latch.count(), 5);
  });
}

// A call to look again comes so late that no answer can come by the deadline: what was seen before stands.
TEST_P(CountDownLatchTest, ALookThatCannotBeAnsweredByTheDeadline) {
  if (GetParam() != Where::embedded) return;  // a busy machine may come later still
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture), b(fixture);
    a.latch.set(1);
    const MonotonicTime deadline = fixture.runtime.now() + 1s;
    Task waiter = fixture.runtime.spawn("client", [&] {
      EXPECT_NO_THROW(EXPECT_FALSE(b.latch.await_until(deadline)));
      EXPECT_EQ(fixture.runtime.now(), deadline);
    });
    wait_for_waiters(fixture, straight, 1);
    fixture.runtime.sleep_until(deadline - 5ms);
    b.link.hold_request("HMGET");
    ask(straight, {"PUBLISH", "holdfast:latch:channel:{k}", "-"});
    b.link.wait_held();
    waiter.join();
    // Where no look was answered, nobody knows.
    EXPECT_THROW(static_cast<void>(b.latch.await_for(5ms)), Unavailable);
    b.link.release_request();
    EXPECT_FALSE(b.latch.await_for(10s));
  });
}

// The numbers of Lua are exact up to 2^53.
TEST_P(CountDownLatchTest, TheGreatestCount) {
  run([](Fixture& fixture, redis::Client&) {
    Peer a(fixture);
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    for (const std::int64_t count : {kMost + 1, std::numeric_limits<std::int64_t>::max()}) {
      EXPECT_THROW(a.latch.set(count), std::invalid_argument) << count;
      EXPECT_EQ(a.latch.count(), std::nullopt);
    }
    EXPECT_TRUE(a.latch.set(kMost));
    EXPECT_EQ(a.latch.count_down(), kMost - 1);
    EXPECT_EQ(a.latch.count_down(), kMost - 2);
    EXPECT_EQ(a.latch.count(), kMost - 2);
  });
}

// The connection with the subscription breaks when the latch opens: found out when it is back.
TEST_P(CountDownLatchTest, NoWakeUpIsLostWithTheConnection) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture, {.lifetime = 1h, .look_again = 1h}), b(fixture, {.lifetime = 1h, .look_again = 1h});
    a.latch.set(1);
    Task waiter = fixture.runtime.spawn("client", [&] { b.latch.await(); });
    wait_for_waiters(fixture, straight, 1);
    b.link.stall(true);
    ask(straight, {"CLIENT", "KILL", "TYPE", "pubsub"});
    a.latch.count_down();
    b.link.stall(false);
    waiter.join();
  });
}

TEST_P(CountDownLatchTest, ForeignTypesAreRejected) {
  run([](Fixture& fixture, redis::Client& straight) {
    Peer a(fixture);
    ask(straight, {"SET", "k", "something else"});
    EXPECT_THROW(a.latch.set(1), Rejected);
    EXPECT_THROW(a.latch.count_down(), Rejected);
    EXPECT_THROW(a.latch.count(), Rejected);
    EXPECT_THROW(a.latch.await(), Rejected);
    ask(straight, {"DEL", "k"});
    ask(straight, {"HSET", "k", "left", "many"});
    EXPECT_THROW(a.latch.count(), Rejected);
    EXPECT_THROW(a.latch.await(), Rejected);
  });
}

}  // namespace
}  // namespace holdfast
