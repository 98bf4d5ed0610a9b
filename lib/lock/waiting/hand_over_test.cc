// How a lock of the reentrant family gets from its holder to somebody who waits in another process: the
// release makes that one the holder.
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

class HandOverTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
  // Only in virtual time a test can say how long something takes at most.
  static bool exact() { return GetParam() == Where::embedded; }
};

INSTANTIATE_TEST_SUITE_P(Ports, HandOverTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

using FairScene = testing::HandOverScene<FairLocks>;
using ReentrantScene = testing::HandOverScene<ReentrantLocks>;

// Runs `body` with a scene of either kind.
template <class Body>
void with_either(Fixture& fixture, const LockOptions& of_a, const LockOptions& of_b, const Body& body) {
  {
    FairScene scene(fixture, of_a, of_b);
    body(scene);
  }
  ReentrantScene scene(fixture, of_a, of_b);
  body(scene);
}

TEST_P(HandOverTest, TheReleaseMakesTheHeadTheHolder) {
  run([](Fixture& fixture) {
    with_either(fixture, {.lease = 60s}, {.lease = 60s}, [&](auto& scene) {
      std::string owner, record;
      std::int64_t left = 0;
      scene.inside = [&] {
        owner = scene.wanted->acquisition();
        record = scene.a.ask({"GET", "k"}).text;
        left = scene.a.ask({"PTTL", "k"}).integer;
        EXPECT_TRUE(scene.wanted->is_held_by_me());
        // As long as it believes to hold it, it does; the lease counts from its last request.
        EXPECT_LE(*scene.wanted->valid_until(), fixture.runtime.now() + std::chrono::milliseconds(left));
        EXPECT_LE(*scene.wanted->valid_until(), scene.released + 60s);
        EXPECT_EQ(scene.a.ask({"EXISTS", kQueue, kPatience}).integer, 0);
      };
      EXPECT_EQ(scene.asks_after_release(kReentrantAcquire), 0);
      EXPECT_EQ(record, owner);
      EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 0);
    });
  });
}

TEST_P(HandOverTest, AHandedOverLeaseIsRenewed) {
  run([](Fixture& fixture) {
    with_either(fixture, {.lease = 60s}, {.lease = 900ms}, [&](auto& scene) {
      scene.inside = [&] {
        scene.b.peer.observer.wait_for(Kind::renewed, 5);
        EXPECT_TRUE(scene.wanted->is_held_by_me());
      };
      scene.asks_after_release(kReentrantRelease);
      EXPECT_EQ(scene.b.peer.observer.count(Kind::lost), 0u);
    });
  });
}

TEST_P(HandOverTest, ItBringsATokenGreaterThanTheLast) {
  run([](Fixture& fixture) {
    with_either(fixture, {.lease = 60s, .fencing = true}, {.lease = 60s, .fencing = true}, [&](auto& scene) {
      const std::uint64_t before = scene.held->token().value();
      std::uint64_t token = 0;
      scene.inside = [&] { token = scene.wanted->token().value_or(0); };
      EXPECT_EQ(scene.asks_after_release(kReentrantAcquire), 0);
      EXPECT_GT(token, before);
      EXPECT_EQ(scene.a.ask({"GET", "holdfast:token:{k}"}).text, std::to_string(token));
    });
  });
}

// The last one is ahead of the server's clock, which somebody has set back.
TEST_P(HandOverTest, ItBringsATokenGreaterThanTheLastWhateverTheClockSays) {
  run([](Fixture& fixture) {
    with_either(fixture, {.lease = 60s, .fencing = true}, {.lease = 60s, .fencing = true}, [&](auto& scene) {
      std::uint64_t token = 0;
      scene.inside = [&] { token = scene.wanted->token().value_or(0); };
      scene.a.ask({"SET", "holdfast:token:{k}", "9000000000000000"});
      EXPECT_EQ(scene.asks_after_release(kReentrantAcquire), 0);
      EXPECT_EQ(token, 9'000'000'000'000'001u);
      scene.a.ask({"DEL", "holdfast:token:{k}"});
    });
  });
}

// Who wants fencing where the others do not draws a token of its own.
TEST_P(HandOverTest, WithoutATokenItAsksForOne) {
  run([](Fixture& fixture) {
    with_either(fixture, {.lease = 60s}, {.lease = 60s, .fencing = true}, [&](auto& scene) {
      std::uint64_t token = 0;
      scene.inside = [&] { token = scene.wanted->token().value_or(0); };
      EXPECT_EQ(scene.asks_after_release(kReentrantAcquire), 1);
      EXPECT_GT(token, 0u);
    });
  });
}

// A lease that is not renewed is a whole one, from the grant on; so is one with few renewals. The record
// lasts a lease and a third from the last request on: enough for a while; later it is asked for once more.
TEST_P(HandOverTest, WhoRenewsNothingGetsAWholeLease) {
  for (const LockOptions& options :
       {LockOptions{.lease = 60s, .renew = false}, LockOptions{.lease = 60s, .max_renewals = 2}}) {
    run([&](Fixture& fixture) {
      FairScene scene(fixture, {.lease = 60s}, options);
      scene.inside = [&] {
        const MonotonicTime until = *scene.wanted->valid_until();
        EXPECT_GT(until, scene.released + 59s);
        EXPECT_LE(until - fixture.runtime.now(),
                  std::chrono::milliseconds(scene.a.ask({"PTTL", "k"}).integer));
      };
      EXPECT_EQ(scene.asks_after_release(kReentrantAcquire), 0);
    });
    run([&](Fixture& fixture) {
      LockOptions brief = options;
      brief.lease = 1200ms;
      FairScene scene(fixture, {.lease = 60s}, brief);
      fixture.runtime.sleep_for(500ms);  // more than a third of its lease
      scene.inside = [&] {
        if (exact()) {
          EXPECT_GT(*scene.wanted->valid_until(), scene.released + 1180ms);
        }
      };
      const int asks = scene.asks_after_release(kReentrantAcquire);
      if (exact()) {
        EXPECT_EQ(asks, 1);
      }
    });
  }
}

// Too little is left of the lease of its last request for the watchdog to renew it in peace.
TEST_P(HandOverTest, AnOldRequestIsAskedAgain) {
  run([](Fixture& fixture) {
    with_either(fixture, {.lease = 60s}, {.lease = 1200ms}, [&](auto& scene) {
      fixture.runtime.sleep_for(900ms);
      const int asks = scene.asks_after_release(kReentrantAcquire);
      if (exact()) {
        EXPECT_EQ(asks, 1);
      }
      EXPECT_EQ(scene.b.peer.observer.count(Kind::lost), 0u);
    });
  });
}

// Somebody publishes what the server did not say, or what it said about an earlier request: no grant by
// itself.
TEST_P(HandOverTest, AMessageWithAnotherTicketGrantsNothing) {
  run([](Fixture& fixture) {
    FairScene scene(fixture, {.lease = 60s}, {.lease = 60s});
    const std::string owner = scene.a.ask({"ZRANGE", kQueue, "0", "0"}).items.at(0).text;
    const std::string ticket = scene.a.ask({"ZSCORE", kPatience, owner}).text;
    const std::string channel = "holdfast:wake:" + owner.substr(0, owner.find(':'));
    scene.b.link.count(std::string(kReentrantAcquire.sha1));
    for (const char* const what : {" held 1", " held", " held x", " held -1", " held 99999999999999999999"}) {
      scene.a.ask({"PUBLISH", channel, owner + what});
      fixture.runtime.sleep_for(5ms);
    }
    scene.b.peer.observer.wait_for(Kind::queued, 3);
    EXPECT_EQ(scene.b.peer.observer.count(Kind::acquired), 0u);
    EXPECT_GE(scene.b.link.counted(), 1);                               // it looks
    EXPECT_NE(scene.a.ask({"ZSCORE", kPatience, owner}).text, ticket);  // and has another ticket now
    scene.a.ask({"PUBLISH", channel, owner + " held " + ticket});
    fixture.runtime.sleep_for(5ms);
    EXPECT_EQ(scene.b.peer.observer.count(Kind::acquired), 0u);
    scene.held->unlock();
    scene.waiter.join();
  });
}

// The message is lost: the new holder learns of its luck when it asks again, by the end of the lease that it
// was told of.
TEST_P(HandOverTest, ALostMessageCostsALeaseAtMost) {
  run([](Fixture& fixture) {
    with_either(fixture, {.lease = 600ms}, {.lease = 600s}, [&](auto& scene) {
      const std::string owner = scene.a.ask({"ZRANGE", kQueue, "0", "0"}).items.at(0).text;
      // As the release would do it, but nobody is told.
      scene.a.ask({"SET", "k", owner, "PX", "600000"});
      scene.a.ask({"DEL", kQueue, kPatience});
      const MonotonicTime lost = fixture.runtime.now();
      scene.waiter.join();
      EXPECT_EQ(scene.b.peer.observer.count(Kind::acquired), 1u);
      if (exact()) {
        EXPECT_LE(scene.granted - lost, 600ms + 125ms);  // it looks a little after the end
      }
      EXPECT_THROW(scene.held->release(), LockLost);
    });
  });
}

// Whose lock it became while it gave up hands it on.
TEST_P(HandOverTest, AGrantToSomebodyWhoGaveUpIsHandedOn) {
  run([](Fixture& fixture) {
    Peer<FairLocks> a(fixture, {.lease = 600s}), c(fixture, {.lease = 600s});
    RelayedPeer<FairLocks> b(fixture, {.lease = 600s});
    b.peer.ask({"PING"});
    const auto held = a.locks.obtain("k");
    held->lock();
    std::stop_source stop;
    Task impatient = fixture.runtime.spawn("client", [&] {
      EXPECT_THROW(static_cast<void>(b.peer.locks.obtain("k")->try_lock_until(kNever, stop.get_token())),
                   Interrupted);
    });
    b.peer.observer.wait_for(Kind::queued, 2);
    const MonotonicTime start = fixture.runtime.now();
    Task patient = fixture.runtime.spawn("client", [&] {
      const auto lock = c.locks.obtain("k");
      lock->lock();
      lock->unlock();
    });
    c.observer.wait_for(Kind::queued, 2);
    b.link.stall(true);  // it holds the lock now, and does not hear it
    held->unlock();
    stop.request_stop();
    impatient.join();
    b.link.stall(false);
    patient.join();
    EXPECT_LT(fixture.runtime.now() - start, 300s);
    while (a.ask({"DBSIZE"}).integer != 0) fixture.runtime.sleep_for(1ms);
  });
}

// Several processes that want a reentrant lock again at once take turns.
TEST_P(HandOverTest, WhoReleasesDoesNotOvertakeWhoWasCalled) {
  run([](Fixture& fixture) {
    constexpr int kProcesses = 4, kTurns = 8;
    std::list<Peer<ReentrantLocks>> peers;
    std::vector<int> order;
    Mutex mutex(fixture.runtime);
    {
      std::list<Task> tasks;
      Peer<ReentrantLocks> a(fixture, {.lease = 60s});
      const auto first = a.locks.obtain("k");
      first->lock();
      for (int i = 0; i < kProcesses; ++i) {
        auto& peer = peers.emplace_back(fixture, LockOptions{.lease = 60s});
        tasks.push_back(fixture.runtime.spawn("client", [&, i] {
          const auto lock = peer.locks.obtain("k");
          for (int turn = 0; turn < kTurns; ++turn) {
            lock->lock();
            {
              const std::scoped_lock guard(mutex);
              order.push_back(i);
            }
            lock->unlock();
          }
        }));
        while (a.ask({"ZCARD", kQueue}).integer != i + 1) fixture.runtime.sleep_for(1ms);
      }
      first->unlock();
    }
    ASSERT_EQ(order.size(), static_cast<std::size_t>(kProcesses * kTurns));
    if (!exact()) return;  // a machine that stands still for a while loses subscriptions
    int in_a_row = 0;
    for (std::size_t i = 1; i < order.size(); ++i) in_a_row += order[i] == order[i - 1];
    EXPECT_EQ(in_a_row, 0);
  });
}

}  // namespace
}  // namespace holdfast
