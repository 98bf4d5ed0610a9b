// How a lock gets from its holder to somebody who waits in another process: the fair lock by the release
// itself, the reentrant lock by a call, while nobody else may take it.
#include <gtest/gtest.h>

#include <algorithm>
#include <concepts>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/fair/fair_scripts.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Peer;
using testing::RelayedPeer;
using testing::Where;
using Kind = LockEvent::Kind;

constexpr const char* kQueue = "holdfast:fair:queue:{k}";
constexpr const char* kPatience = "holdfast:fair:patience:{k}";
constexpr const char* kWaiting = "holdfast:waiting:{k}";

class HandOverTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
  // Only in virtual time a test can say how long something takes at most.
  static bool exact() { return GetParam() == Where::embedded; }
};

INSTANTIATE_TEST_SUITE_P(Ports, HandOverTest, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

// `a` holds "k"; `b`, whose requests are counted, waits for it.
template <class Kind>
struct Scene {
  Scene(Fixture& stand_in, const LockOptions& of_a, const LockOptions& of_b, const char* queue)
      : fixture(stand_in), a(fixture, of_a), b(fixture, of_b) {
    for (const redis::Script* script :
         {&kFairAcquire, &kFairRelease, &kReentrantAcquire, &kReentrantRelease}) {
      a.ask({"SCRIPT", "LOAD", script->text});
    }
    b.peer.ask({"PING"});
    held = a.locks.obtain("k");
    held->lock();
    wanted = b.peer.locks.obtain("k");
    waiter = fixture.runtime.spawn("client", [this] {
      wanted->lock();
      granted = fixture.runtime.now();
      inside();
      wanted->unlock();
    });
    while (a.ask({"ZCARD", queue}).integer != 1) fixture.runtime.sleep_for(1ms);
    while (a.ask({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.empty()) fixture.runtime.sleep_for(1ms);
    // A waiter that listens looks once more. A fair lock tells so; elsewhere only virtual time is sure of it.
    if constexpr (std::same_as<Kind, FairLocks>) {
      b.peer.observer.wait_for(LockEvent::Kind::queued, 2);
    } else {
      fixture.runtime.sleep_for(20ms);
    }
  }
  // How many requests with the script `b` sends from the release on until it has released itself.
  int asks_after_release(const redis::Script& script) {
    b.link.count(std::string(script.sha1));
    released = fixture.runtime.now();
    held->unlock();
    waiter.join();
    return b.link.counted();
  }

  Fixture& fixture;
  testing::Peer<Kind> a;
  testing::RelayedPeer<Kind> b;
  std::shared_ptr<Lock> held, wanted;
  std::function<void()> inside = [] {};
  MonotonicTime granted{}, released{};
  Task waiter;
};

using FairScene = Scene<FairLocks>;
using ReentrantScene = Scene<ReentrantLocks>;

TEST_P(HandOverTest, TheReleaseMakesTheHeadTheHolder) {
  run([](Fixture& fixture) {
    FairScene scene(fixture, {.lease = 60s}, {.lease = 60s}, kQueue);
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
    EXPECT_EQ(scene.asks_after_release(kFairAcquire), 0);
    EXPECT_EQ(record, owner);
    EXPECT_EQ(scene.a.ask({"DBSIZE"}).integer, 0);
  });
}

TEST_P(HandOverTest, AHandedOverLeaseIsRenewed) {
  run([](Fixture& fixture) {
    FairScene scene(fixture, {.lease = 60s}, {.lease = 900ms}, kQueue);
    scene.inside = [&] {
      scene.b.peer.observer.wait_for(Kind::renewed, 5);
      EXPECT_TRUE(scene.wanted->is_held_by_me());
    };
    scene.asks_after_release(kFairRelease);
    EXPECT_EQ(scene.b.peer.observer.count(Kind::lost), 0u);
  });
}

TEST_P(HandOverTest, ItBringsATokenGreaterThanTheLast) {
  run([](Fixture& fixture) {
    FairScene scene(fixture, {.lease = 60s, .fencing = true}, {.lease = 60s, .fencing = true}, kQueue);
    const std::uint64_t before = scene.held->token().value();
    std::uint64_t token = 0;
    scene.inside = [&] { token = scene.wanted->token().value_or(0); };
    EXPECT_EQ(scene.asks_after_release(kFairAcquire), 0);
    EXPECT_GT(token, before);
    EXPECT_EQ(scene.a.ask({"GET", "holdfast:token:{k}"}).text, std::to_string(token));
  });
}

// Who wants fencing where the others do not draws a token of its own.
TEST_P(HandOverTest, WithoutATokenItAsksForOne) {
  run([](Fixture& fixture) {
    FairScene scene(fixture, {.lease = 60s}, {.lease = 60s, .fencing = true}, kQueue);
    std::uint64_t token = 0;
    scene.inside = [&] { token = scene.wanted->token().value_or(0); };
    EXPECT_EQ(scene.asks_after_release(kFairAcquire), 1);
    EXPECT_GT(token, 0u);
  });
}

// A lease that is not renewed has to be a whole one, from the grant on; so has one with few renewals.
TEST_P(HandOverTest, WhoWantsAWholeLeaseAsksForIt) {
  for (const LockOptions& options :
       {LockOptions{.lease = 60s, .renew = false}, LockOptions{.lease = 60s, .max_renewals = 2}}) {
    run([&](Fixture& fixture) {
      FairScene scene(fixture, {.lease = 60s}, options, kQueue);
      fixture.runtime.sleep_for(10ms);
      scene.inside = [&] { EXPECT_GT(*scene.wanted->valid_until(), scene.released + 58s); };
      EXPECT_EQ(scene.asks_after_release(kFairAcquire), 1);
    });
  }
}

// Too little is left of the lease of its last request for the watchdog to renew it in peace.
TEST_P(HandOverTest, AnOldRequestIsAskedAgain) {
  run([](Fixture& fixture) {
    FairScene scene(fixture, {.lease = 60s}, {.lease = 1200ms}, kQueue);
    fixture.runtime.sleep_for(900ms);
    const int asks = scene.asks_after_release(kFairAcquire);
    if (exact()) {
      EXPECT_EQ(asks, 1);
    }
    EXPECT_EQ(scene.b.peer.observer.count(Kind::lost), 0u);
  });
}

// Somebody publishes what the server did not say, or what it said about an earlier request: no grant by
// itself.
TEST_P(HandOverTest, AMessageWithAnotherTicketGrantsNothing) {
  run([](Fixture& fixture) {
    FairScene scene(fixture, {.lease = 60s}, {.lease = 60s}, kQueue);
    const std::string owner = scene.a.ask({"ZRANGE", kQueue, "0", "0"}).items.at(0).text;
    const std::string ticket = scene.a.ask({"ZSCORE", kPatience, owner}).text;
    const std::string channel = "holdfast:wake:" + owner.substr(0, owner.find(':'));
    scene.b.link.count(std::string(kFairAcquire.sha1));
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
    FairScene scene(fixture, {.lease = 600ms}, {.lease = 600s}, kQueue);
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
    EXPECT_THROW(scene.held->unlock(), LockLost);
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
      EXPECT_THROW(b.peer.locks.obtain("k")->try_lock_until(kNever, stop.get_token()), Interrupted);
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
        while (a.ask({"ZCARD", kWaiting}).integer != i + 1) fixture.runtime.sleep_for(1ms);
      }
      first->unlock();
    }
    ASSERT_EQ(order.size(), static_cast<std::size_t>(kProcesses * kTurns));
    if (!exact()) return;  // a machine that stands still for 100 ms calls the next one
    int in_a_row = 0;
    for (std::size_t i = 1; i < order.size(); ++i) in_a_row += order[i] == order[i - 1];
    EXPECT_EQ(in_a_row, 0);
  });
}

// While the called one is on its way nobody else gets it; what is kept is no hold, and ends by itself.
TEST_P(HandOverTest, ACalledLockIsKeptForAMoment) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s, .fencing = true});
    const std::string called = "01234567-89ab-4def-8123-456789abcdef:1";
    a.ask({"SET", "k", called + " called", "PX", "60000"});
    const auto lock = a.locks.obtain("k");
    EXPECT_FALSE(lock->try_lock());
    EXPECT_FALSE(lock->force_unlock());
    // To the one that was called it is free: it becomes its holder, with a token of its own.
    const std::vector<std::string_view> keys{"k", kWaiting, "holdfast:token:{k}"}, args{called, "30000", "1"};
    const redis::Reply mine = a.client.eval(kReentrantAcquire, keys, args).reply;
    ASSERT_EQ(mine.items.size(), 3u);
    EXPECT_EQ(mine.items[0].integer, 1);
    EXPECT_GT(mine.items[2].integer, 0);
    EXPECT_EQ(a.ask({"GET", "k"}).text, called);
    EXPECT_TRUE(lock->force_unlock());
    // Who was called and gives up frees it.
    a.ask({"SET", "k", called + " called", "PX", "60000"});
    const std::vector<std::string_view> its_keys{"k", kWaiting}, its_args{called};
    EXPECT_EQ(a.client.eval(kReentrantRelease, its_keys, its_args).reply.integer, 0);
    EXPECT_EQ(a.ask({"EXISTS", "k"}).integer, 0);
  });
}

// A call to who has given up, while its leave is on the way, keeps the lock from nobody of its process.
TEST_P(HandOverTest, ACallIsForAnyLaterOwnerOfTheProcess) {
  run([](Fixture& fixture) {
    Peer<ReentrantLocks> a(fixture, {.lease = 60s});
    const auto lock = a.locks.obtain("k");
    lock->lock();
    const std::string earlier = lock->acquisition();
    lock->unlock();
    a.ask({"SET", "k", earlier + " called", "PX", "60000"});
    EXPECT_TRUE(lock->try_lock());
    EXPECT_EQ(a.ask({"GET", "k"}).text, lock->acquisition());
    lock->unlock();
    // A request of before that arrives late takes nothing from who was called since.
    a.ask({"SET", "k", earlier + "000 called", "PX", "60000"});
    EXPECT_FALSE(lock->try_lock());
  });
}

// `b` waits for "k", which `a` holds, and gives up just before the release, which calls it.
struct GivenUp {
  explicit GivenUp(Fixture& fixture)
      : a(fixture, {.lease = 60s}), b(fixture, {.lease = 60s}), held(a.locks.obtain("k")) {
    for (const redis::Script* script : {&kReentrantAcquire, &kReentrantRelease}) {
      a.ask({"SCRIPT", "LOAD", script->text});
    }
    b.peer.ask({"PING"});
    held->lock();
    wanted = b.peer.locks.obtain("k");
    waiter = fixture.runtime.spawn(
        "client", [this] { EXPECT_THROW(wanted->lock_interruptibly(stop.get_token()), Interrupted); });
    while (a.ask({"ZCARD", kWaiting}).integer != 1) fixture.runtime.sleep_for(1ms);
    while (a.ask({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.empty()) fixture.runtime.sleep_for(1ms);
    fixture.runtime.sleep_for(20ms);  // who listens looks once more; a slow look only makes a test weaker
  }
  void give_up() {
    stop.request_stop();
    waiter.join();
  }
  Peer<ReentrantLocks> a;
  RelayedPeer<ReentrantLocks> b;
  std::shared_ptr<Lock> held, wanted;
  std::stop_source stop;
  Task waiter;
};

TEST_P(HandOverTest, WhoGaveUpFindsTheLockFree) {
  run([](Fixture& fixture) {
    GivenUp scene(fixture);
    scene.b.link.lose_request_with(std::string(kReentrantRelease.sha1));  // its leave, which comes later
    scene.give_up();
    while (scene.b.link.to_lose() > 0) fixture.runtime.sleep_for(1ms);
    scene.held->unlock();
    if (exact()) {
      EXPECT_TRUE(scene.a.ask({"GET", "k"}).text.ends_with(" called"));
    }
    EXPECT_TRUE(scene.wanted->try_lock());
    scene.wanted->unlock();
  });
}

// The same for other processes: whether the leave arrives soon or never, nobody holds the lock.
TEST_P(HandOverTest, ACallThatNobodyTakesMakesNoFreeLockLookHeld) {
  for (const bool arrives : {true, false}) {
    run([&](Fixture& fixture) {
      GivenUp scene(fixture);
      Peer<ReentrantLocks> c(fixture, {.lease = 60s});
      c.ask({"PING"});
      scene.b.link.hold_request(std::string(kReentrantRelease.sha1));
      scene.give_up();
      scene.b.link.wait_held();
      scene.held->unlock();
      if (exact()) {
        EXPECT_TRUE(scene.a.ask({"GET", "k"}).text.ends_with(" called"));
      }
      const MonotonicTime asked = fixture.runtime.now();
      Task leave = fixture.runtime.spawn("client", [&] {
        fixture.runtime.sleep_for(10ms);
        if (arrives) scene.b.link.release_request();
      });
      const auto lock = c.locks.obtain("k");
      EXPECT_TRUE(lock->try_lock());
      if (exact()) {
        EXPECT_LE(fixture.runtime.now() - asked, arrives ? 20ms : 105ms);
      }
      leave.join();
      scene.b.link.release_request();
      lock->unlock();
    });
  }
}

// Who was called comes, if late: a try that met the call does not overtake it, and is refused once it is
// there.
TEST_P(HandOverTest, ATryDoesNotOvertakeWhoIsOnItsWay) {
  run([](Fixture& fixture) {
    if (!exact()) return;  // elsewhere 100 ms may go by unnoticed
    ReentrantScene scene(fixture, {.lease = 60s}, {.lease = 60s}, kWaiting);
    Peer<ReentrantLocks> c(fixture, {.lease = 60s});
    c.ask({"PING"});
    scene.inside = [&] { fixture.runtime.sleep_for(1s); };
    scene.b.link.stall(true);
    scene.held->unlock();
    const MonotonicTime asked = fixture.runtime.now();
    Task thaw = fixture.runtime.spawn("client", [&] {
      fixture.runtime.sleep_for(50ms);
      scene.b.link.stall(false);
    });
    EXPECT_FALSE(c.locks.obtain("k")->try_lock());
    EXPECT_GE(fixture.runtime.now() - asked, 50ms);
    EXPECT_LE(fixture.runtime.now() - asked, 70ms);
    EXPECT_EQ(scene.b.peer.observer.count(Kind::acquired), 1u);
    scene.waiter.join();
    thaw.join();
  });
}

// After a release that called somebody, a plain SET would be refused: three commands a turn, not four.
TEST_P(HandOverTest, CommandsATurnAmongProcesses) {
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
    EXPECT_LE(a.link.counted() + b.link.counted(), 3 * 2 * kTurns + 10);
    EXPECT_GE(a.link.counted() + b.link.counted(), 2 * 2 * kTurns);
  });
}

}  // namespace
}  // namespace holdfast
