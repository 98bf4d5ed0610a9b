// Every task of the library, when the process has no threads left for a while: nothing is disabled for good,
// no lock is held that nobody watches, and no destructor ends the program.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/testing/failing_spawns.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::FailingSpawns;
using testing::FaultyLink;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;

// A client whose tasks may fail to start, and one that goes straight to the server.
struct Scene {
  explicit Scene(Fixture& stand)
      : fixture(stand),
        runtime(stand.runtime),
        link(stand.runtime, stand.network, stand.redis),
        observer(stand.runtime),
        straight(stand.runtime, stand.network, stand.options()),
        client(runtime, stand.network, stand.options(link.endpoint())) {
    testing::load(straight, {&kReentrantAcquire, &kReentrantRelease, &kReentrantRenew});
  }
  LockOptions options(Duration lease) { return {.lease = fixture.lease(lease), .observer = &observer}; }
  bool exists(const std::string& key) { return straight.call({"EXISTS", key}).reply.integer == 1; }
  void wait_gone(const std::string& key) {
    while (exists(key)) fixture.runtime.sleep_for(1ms);
  }

  Fixture& fixture;
  FailingSpawns runtime;
  FaultyLink link;
  RecordingObserver observer;
  redis::Client straight, client;
};

class NoThreads : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Scene&)>& body) {
    testing::with_fixture(GetParam(), [&](Fixture& fixture) {
      Scene scene(fixture);
      body(scene);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, NoThreads, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(NoThreads, AHoldThatCannotBeWatchedIsGivenBackAndSaidSo) {
  run([](Scene& scene) {
    ReentrantLocks locks(scene.client, scene.options(300ms));
    const auto lock = locks.obtain("k");
    scene.client.call({"PING"});
    scene.runtime.fail_next(1, "watchdog");
    try {
      lock->lock();
      ADD_FAILURE() << "nobody watches it";
    } catch (const Unavailable& error) {
      EXPECT_NE(std::string(error.what()).find("it was given back"), std::string::npos) << error.what();
      EXPECT_FALSE(error.may_have_executed());
    }
    EXPECT_FALSE(lock->is_held_by_me());
    EXPECT_FALSE(scene.exists("k"));
    lock->lock();  // nothing was disabled
    scene.observer.wait_for(Kind::renewed);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

TEST_P(NoThreads, TheClientConnectsAsSoonAsATaskCanBeStarted) {
  run([](Scene& scene) {
    scene.runtime.fail_next(3, "connector");
    EXPECT_EQ(scene.client.call({"PING"}).reply.text, "PONG");
    EXPECT_EQ(scene.runtime.to_fail(), 0);
    scene.runtime.fail_next(1'000'000, "connector");
    redis::Client other(scene.runtime, scene.fixture.network, scene.fixture.options());
    try {
      other.call({"PING"}, {.deadline = scene.runtime.now() + 30ms});
      ADD_FAILURE();
    } catch (const redis::Error& error) {
      EXPECT_EQ(error.kind(), redis::Error::Kind::unavailable);
      EXPECT_NE(std::string(error.what()).find("no task could be started"), std::string::npos)
          << error.what();
    }
    scene.runtime.fail_next(0);
    EXPECT_EQ(other.call({"PING"}).reply.text, "PONG");
  });
}

TEST_P(NoThreads, RenewalsServeThemselves) {
  run([](Scene& scene) {
    ReentrantLocks locks(scene.client, scene.options(150ms));
    const auto lock = locks.obtain("k");
    scene.runtime.fail_next(1'000'000, "reader");
    lock->lock();
    scene.observer.wait_for(Kind::renewed, 5);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

TEST_P(NoThreads, AWaiterThatCannotListenAsksAgainAndIsGranted) {
  run([](Scene& scene) {
    ReentrantLocks others(scene.straight, {.lease = 60s});
    const auto held = others.obtain("k");
    held->lock();
    ReentrantLocks locks(scene.client, scene.options(60s));
    const auto lock = locks.obtain("k");
    scene.client.call({"PING"});
    scene.runtime.fail_next(3, "subscription");
    Task waiter = scene.fixture.runtime.spawn("waiter", [&] {
      lock->lock();
      lock->unlock();
    });
    scene.observer.wait_for(Kind::waiting);
    while (scene.runtime.to_fail() > 0) scene.fixture.runtime.sleep_for(1ms);
    held->unlock();
    waiter.join();  // not after the minute of the lease: the test would be stopped
    scene.runtime.fail_next(1, "linger");
    EXPECT_TRUE(lock->try_lock());
    lock->unlock();
  });
}

TEST_P(NoThreads, WhatCouldNotBeGivenBackIsGivenBackAtTheNextNeed) {
  run([](Scene& scene) {
    ReentrantLocks locks(scene.client, scene.options(60s));
    scene.client.call({"PING"});
    scene.runtime.fail_next(1, "janitor");
    scene.link.lose_reply_to("60000", 100);
    EXPECT_THROW(static_cast<void>(locks.obtain("k")->try_lock_by(scene.runtime.now() + 50ms)),
                 Unavailable);  // destroys an Attempt
    scene.link.lose_reply_to("60000", 0);
    EXPECT_EQ(scene.runtime.to_fail(), 0);
    EXPECT_TRUE(scene.exists("k"));
    const auto other = locks.obtain("other");
    other->lock();
    scene.wait_gone("k");
    other->unlock();
  });
}

TEST_P(NoThreads, ALossIsToldAsSoonAsATaskCanBeStarted) {
  run([](Scene& scene) {
    ReentrantLocks locks(scene.client, scene.options(150ms));
    const auto lock = locks.obtain("k");
    lock->lock();
    Sign told(scene.fixture.runtime);
    const std::stop_callback on_lost(lock->lost(), [&] { told.give(); });
    scene.runtime.fail_next(3, "callback");
    scene.straight.call({"DEL", "k"});
    told.wait();
    EXPECT_EQ(scene.runtime.to_fail(), 0);
    EXPECT_FALSE(lock->is_held_by_me());
    try {
      lock->release();
    } catch (const LockLost&) {
    }
  });
}

// The holder finds the loss itself, when the watchdog has ended as there was nothing to do.
TEST(NoThreadsInVirtualTime, ALossThatACallFindsIsToldAsSoonAsATaskCanBeStarted) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    Scene scene(fixture);
    ReentrantLocks locks(scene.client, scene.options(300ms));
    const auto lock = locks.obtain("k");
    lock->lock();
    bool told = false;
    const std::stop_callback on_lost(lock->lost(), [&] { told = true; });
    scene.straight.call({"DEL", "k"});
    scene.link.hold_request(std::string(kReentrantRelease.sha1));
    Task helper = fixture.runtime.spawn("helper", [&] {
      scene.link.wait_held();
      fixture.runtime.sleep_for(1s);
      scene.runtime.fail_next(3, "callback");
      scene.link.release_request();
    });
    EXPECT_THROW(lock->release(), LockLost);
    EXPECT_FALSE(told);
    fixture.runtime.sleep_for(100ms);
    EXPECT_EQ(scene.runtime.to_fail(), 0);
    EXPECT_TRUE(told);
    helper.join();
  });
}

TEST_P(NoThreads, VotesAreAskedForByTheCallerItself) {
  run([](Scene& scene) {
    Redlocks locks({&scene.client}, {.lock = scene.options(60s), .node_timeout = 2s});
    const auto lock = locks.obtain("k");
    scene.client.call({"PING"});
    scene.runtime.fail_next(1'000'000, "voter");
    lock->lock();
    EXPECT_TRUE(scene.exists("k"));
    lock->unlock();
    EXPECT_FALSE(scene.exists("k"));
  });
}

TEST_P(NoThreads, NoDestructorEndsTheProgram) {
  run([](Scene& scene) {
    ReentrantLocks others(scene.straight, {.lease = 60s});
    const auto held = others.obtain("k");
    held->lock();
    FairLocks locks(scene.client, scene.options(60s));
    ReentrantLocks plain(scene.client, scene.options(60s));
    scene.client.call({"PING"});
    scene.runtime.fail_next(1'000'000);  // connected, and nothing can be started any more
    // An error, or none when the time ran out before anything was to be started.
    for (const auto& lock : {plain.obtain("k"), locks.obtain("q")}) {
      try {
        EXPECT_FALSE(lock->try_lock_for(50ms));
      } catch (const LockError&) {
      }
    }
    EXPECT_LT(scene.runtime.to_fail(), 1'000'000);
    scene.runtime.fail_next(0);
    held->unlock();
    EXPECT_TRUE(plain.obtain("k")->try_lock_for(10s));
  });
}

}  // namespace
}  // namespace holdfast
