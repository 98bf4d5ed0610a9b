// Locks for coroutines (lock.h) on every pair of ports: what is granted arrives or is given back, stop
// requests are answered at once, and a coroutine goes on where it wants to.
#include "lib/async/lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/async/testing/coroutine.h"
#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/testing/fixture.h"
#include "lib/testing/scene.h"
#include "lib/testing/servers.h"

namespace holdfast::async {
namespace {

using namespace std::chrono_literals;
using holdfast::testing::Fixture;
using holdfast::testing::Sign;
using holdfast::testing::Where;
using testing::Coroutine;

// A host on the test's own tasks, and locks on it.
struct Scene {
  explicit Scene(Fixture& fixture, LockOptions options = {.lease = 20s})
      : client(fixture.runtime, fixture.network, fixture.options()),
        host(std::make_shared<RuntimeHost>(fixture.runtime)),
        blocking(std::make_shared<ReentrantLocks>(client, options)),
        locks(host, blocking),
        other_client(fixture.runtime, fixture.network, fixture.options()),
        others(other_client, options) {}
  ~Scene() { host->end(); }  // before what its tasks stand on
  bool is_free(const std::string& key) { return client.call({"EXISTS", key}).reply.integer == 0; }

  redis::Client client;
  std::shared_ptr<RuntimeHost> host;
  std::shared_ptr<ReentrantLocks> blocking;
  AsyncLocks locks;
  redis::Client other_client;
  ReentrantLocks others;  // of somebody else
};

class AsyncLockTest : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) {
    holdfast::testing::with_fixture(GetParam(), body);
  }
};

INSTANTIATE_TEST_SUITE_P(Ports, AsyncLockTest, ::testing::ValuesIn(holdfast::testing::everywhere()),
                         [](const auto& info) { return holdfast::testing::to_string(info.param); });

// What became of one acquire.
struct Outcome {
  explicit Outcome(Runtime& runtime) : ended(runtime) {}
  Sign ended;
  Hold hold;
  std::string failure;  // its kind
};

std::string kind_of_failure(std::exception_ptr failure) {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const Interrupted&) {
    return "interrupted";
  } catch (const LockLost&) {
    return "lost";
  } catch (const NotOwner&) {
    return "not owner";
  } catch (const Rejected&) {
    return "rejected";
  } catch (const Unavailable&) {
    return "unavailable";
  } catch (const std::invalid_argument&) {
    return "invalid";
  }
}

// The executor is where the promise finds it.
Coroutine acquire(Executor, AsyncLock lock, Outcome& outcome, std::stop_token stop = {}) {
  try {
    outcome.hold = co_await lock.async_lock(std::move(stop));
  } catch (...) {
    outcome.failure = kind_of_failure(std::current_exception());
  }
  outcome.ended.give();
}

Coroutine acquire_for(Executor, AsyncLock lock, Duration wait, Outcome& outcome, bool& granted) {
  std::optional<Hold> hold = co_await lock.async_try_lock_for(wait);
  granted = hold.has_value();
  if (hold) outcome.hold = std::move(*hold);
  outcome.ended.give();
}

Coroutine release(Executor, Outcome& outcome) {
  try {
    co_await std::move(outcome.hold).async_release();
  } catch (...) {
    outcome.failure = kind_of_failure(std::current_exception());
  }
  outcome.ended.give();
}

TEST_P(AsyncLockTest, ACoroutineHoldsWhatItAwaitedAndReleasesIt) {
  run([](Fixture& fixture) {
    Scene scene(fixture, {.lease = 20s, .fencing = true});
    Outcome outcome(fixture.runtime);
    const AsyncLock lock = scene.locks.obtain("k");
    acquire({}, lock, outcome);
    outcome.ended.wait(1);
    ASSERT_EQ(outcome.failure, "");
    EXPECT_TRUE(outcome.hold);
    EXPECT_EQ(outcome.hold.key(), "k");
    EXPECT_TRUE(outcome.hold.is_held());
    EXPECT_GT(outcome.hold.token(), 0u);
    EXPECT_GT(outcome.hold.valid_until(), fixture.runtime.now());
    EXPECT_EQ(scene.client.call({"GET", "k"}).reply.text, outcome.hold.acquisition());
    EXPECT_FALSE(scene.others.obtain("k")->try_lock());
    EXPECT_FALSE(scene.blocking->obtain("k")->is_held_by_me())
        << "the hold is the coroutine's, and no task's";
    release({}, outcome);
    outcome.ended.wait(2);
    EXPECT_EQ(outcome.failure, "");
    EXPECT_TRUE(scene.is_free("k"));
  });
}

TEST_P(AsyncLockTest, NothingHappensBeforeItIsAwaited) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    { auto lazy = scene.locks.obtain("k").async_lock(); }
    EXPECT_TRUE(scene.others.obtain("k")->try_lock());
  });
}

TEST_P(AsyncLockTest, ManyCoroutinesTakeTurns) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    constexpr int kMany = 30;
    Sign ended(fixture.runtime);
    std::atomic<int> inside = 0, most = 0;
    const auto work = [](Executor, Runtime& runtime, AsyncLock lock, std::atomic<int>& inside,
                         std::atomic<int>& most, Sign& ended) -> Coroutine {
      Hold hold = co_await lock.async_lock();
      most = std::max<int>(most, ++inside);
      runtime.yield();
      --inside;
      co_await std::move(hold).async_release();
      ended.give();
    };
    for (int i = 0; i < kMany; ++i) work({}, fixture.runtime, scene.locks.obtain("k"), inside, most, ended);
    ended.wait(kMany);
    EXPECT_EQ(most, 1);
    EXPECT_TRUE(scene.is_free("k"));
  });
}

TEST_P(AsyncLockTest, AHoldThatIsDestroyedGivesTheLockBack) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    Outcome outcome(fixture.runtime);
    acquire({}, scene.locks.obtain("k"), outcome);
    outcome.ended.wait();
    outcome.hold = Hold();
    EXPECT_TRUE(scene.others.obtain("k")->try_lock_for(10s));
  });
}

TEST_P(AsyncLockTest, AReleaseThatIsNeverAwaitedGivesTheLockBack) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    Outcome outcome(fixture.runtime);
    acquire({}, scene.locks.obtain("k"), outcome);
    outcome.ended.wait();
    { auto lazy = std::move(outcome.hold).async_release(); }
    EXPECT_TRUE(scene.others.obtain("k")->try_lock_for(10s));
  });
}

TEST_P(AsyncLockTest, AStopRequestEndsAWaitAndNothingIsHeldAfterwards) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    const auto holder = scene.others.obtain("k");
    holder->lock();
    Outcome outcome(fixture.runtime);
    std::stop_source stop;
    acquire({}, scene.locks.obtain("k"), outcome, stop.get_token());
    fixture.runtime.sleep_for(20ms);
    EXPECT_EQ(outcome.ended.given(), 0);
    stop.request_stop();
    outcome.ended.wait();
    EXPECT_EQ(outcome.failure, "interrupted");
    holder->unlock();
    EXPECT_TRUE(holder->try_lock_for(10s)) << "who gave up was granted it, and kept it";
  });
}

TEST_P(AsyncLockTest, AStopRequestBeforeTheAwaitIsInterruptedToo) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    Outcome outcome(fixture.runtime);
    std::stop_source stop;
    stop.request_stop();
    acquire({}, scene.locks.obtain("k"), outcome, stop.get_token());
    outcome.ended.wait();
    EXPECT_EQ(outcome.failure, "interrupted");
    EXPECT_TRUE(scene.others.obtain("k")->try_lock_for(10s));
  });
}

TEST_P(AsyncLockTest, AStopRequestIsAnsweredWhileTheServerHangs) {
  holdfast::testing::on_servers(GetParam(), 1, [](Fixture& fixture, holdfast::testing::Servers& servers) {
    Scene scene(fixture);
    scene.client.call({"PING"});
    const auto holder = scene.others.obtain("k");
    holder->lock();
    Outcome outcome(fixture.runtime);
    std::stop_source stop;
    acquire({}, scene.locks.obtain("k"), outcome, stop.get_token());
    fixture.runtime.sleep_for(20ms);
    servers.pause(0);
    stop.request_stop();
    outcome.ended.wait();  // for ever, if it waited for the server
    EXPECT_EQ(outcome.failure, "interrupted");
    servers.resume(0);
  });
}

TEST_P(AsyncLockTest, AGrantToAFrameThatIsGoneIsGivenBack) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    const auto holder = scene.others.obtain("k");
    holder->lock();
    Outcome outcome(fixture.runtime);
    Coroutine waits = acquire({}, scene.locks.obtain("k"), outcome);
    fixture.runtime.sleep_for(20ms);
    waits.destroy();
    holder->unlock();
    EXPECT_TRUE(holder->try_lock_for(10s));
    EXPECT_EQ(outcome.ended.given(), 0);
  });
}

// A frame that goes when the grant is there already, and waits for its turn on the executor.
TEST_P(AsyncLockTest, AGrantThatWaitsForItsExecutorIsGivenBackWhenTheFrameGoes) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    Outcome outcome(fixture.runtime);
    Sign taken(fixture.runtime);
    std::deque<std::function<void()>> queue;
    const Executor later = [&](std::function<void()> work) {
      queue.push_back(std::move(work));
      taken.give();
    };
    Coroutine waits = acquire(later, scene.locks.obtain("k"), outcome);
    taken.wait();
    EXPECT_FALSE(scene.is_free("k"));
    waits.destroy();
    EXPECT_TRUE(scene.others.obtain("k")->try_lock_for(10s));
    for (const auto& work : queue) work();  // it finds nobody
    EXPECT_EQ(outcome.ended.given(), 0);
  });
}

TEST_P(AsyncLockTest, AGrantIsGivenBackWhenTheExecutorDropsIt) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    Outcome outcome(fixture.runtime);
    Sign dropped(fixture.runtime);
    Coroutine waits = acquire([&](const std::function<void()>&) { dropped.give(); },  // and is gone
                              scene.locks.obtain("k"), outcome);
    dropped.wait();
    EXPECT_TRUE(scene.others.obtain("k")->try_lock_for(10s));
    EXPECT_EQ(outcome.ended.given(), 0);
    waits.destroy();
  });
}

TEST_P(AsyncLockTest, ACoroutineGoesOnOnItsExecutor) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    Sign ended(fixture.runtime), came(fixture.runtime);
    std::deque<std::function<void()>> queue;
    const auto into = [&](std::string& log, const char* name) {
      return Executor([&, name](std::function<void()> work) {
        log += name;
        queue.push_back(std::move(work));
        came.give();
      });
    };
    std::string log;
    const auto work = [](Executor, AsyncLock lock, Executor another, std::string& log,
                         Sign& ended) -> Coroutine {
      Hold hold = co_await lock.async_lock();
      log += "1";
      co_await std::move(hold).async_release().resume_on(another);
      log += "2";
      ended.give();
    };
    work(into(log, "p"), scene.locks.obtain("k"), into(log, "r"), log, ended);
    for (int i = 1; i <= 2; ++i) {
      came.wait(i);
      queue.front()();
      queue.pop_front();
    }
    EXPECT_EQ(ended.given(), 1);
    EXPECT_EQ(log, "p1r2");
  });
}

TEST_P(AsyncLockTest, ATryEndsWithoutAGrantInTime) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    const auto holder = scene.others.obtain("k");
    holder->lock();
    Outcome outcome(fixture.runtime);
    bool granted = true;
    acquire_for({}, scene.locks.obtain("k"), 0s, outcome, granted);
    outcome.ended.wait(1);
    EXPECT_FALSE(granted);
    const MonotonicTime before = fixture.runtime.now();
    acquire_for({}, scene.locks.obtain("k"), 50ms, outcome, granted);
    outcome.ended.wait(2);
    EXPECT_FALSE(granted);
    EXPECT_GE(fixture.runtime.now() - before, 50ms);
    holder->unlock();
    acquire_for({}, scene.locks.obtain("k"), 10s, outcome, granted);
    outcome.ended.wait(3);
    EXPECT_TRUE(granted);
    EXPECT_THROW(static_cast<void>(scene.locks.obtain("k").async_try_lock_for(-1ms)), std::invalid_argument);
  });
}

TEST_P(AsyncLockTest, WhatTheLockThrowsComesOutOfTheAwait) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    scene.client.call({"SADD", "set", "x"});
    Outcome outcome(fixture.runtime);
    acquire({}, scene.locks.obtain("set"), outcome);
    outcome.ended.wait(1);
    EXPECT_EQ(outcome.failure, "rejected");
    acquire({}, scene.locks.obtain(""), outcome);
    outcome.ended.wait(2);
    EXPECT_EQ(outcome.failure, "invalid");
  });
}

TEST_P(AsyncLockTest, ALossIsToldAndComesOutOfTheRelease) {
  run([](Fixture& fixture) {
    Scene scene(fixture, {.lease = fixture.lease(900ms)});
    Outcome outcome(fixture.runtime);
    acquire({}, scene.locks.obtain("k"), outcome);
    outcome.ended.wait(1);
    Sign told(fixture.runtime);
    const std::stop_callback lost(outcome.hold.lost(), [&told] { told.give(); });
    EXPECT_TRUE(scene.others.obtain("k")->force_unlock());
    told.wait();
    EXPECT_FALSE(outcome.hold.is_held());
    release({}, outcome);
    outcome.ended.wait(2);
    EXPECT_EQ(outcome.failure, "lost");
  });
}

TEST_P(AsyncLockTest, AHoldIsExtended) {
  run([](Fixture& fixture) {
    Scene scene(fixture, {.lease = 10s, .renew = false});
    Outcome outcome(fixture.runtime);
    acquire({}, scene.locks.obtain("k"), outcome);
    outcome.ended.wait(1);
    const auto extend = [](Executor, Outcome& outcome) -> Coroutine {
      co_await outcome.hold.async_extend(60s);
      outcome.ended.give();
    };
    extend({}, outcome);
    outcome.ended.wait(2);
    EXPECT_GT(*outcome.hold.valid_until() - fixture.runtime.now(), 30s);
  });
}

TEST_P(AsyncLockTest, EveryKindOfLockCanBeAwaited) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    FairLocks fair(scene.client, {.lease = 20s});
    ReadWriteLocks tables(scene.client, {.lock = {.lease = 20s}});
    Semaphores permits(scene.client, {.lock = {.lease = 20s}, .permits = 1});
    const auto table = tables.obtain("table");
    const std::shared_ptr<Lock> reads(table, &table->read());
    const auto both = std::make_shared<MultiLock>(
        std::vector<std::shared_ptr<Lock>>{scene.blocking->obtain("a"), scene.blocking->obtain("b")});
    for (const std::shared_ptr<Lock>& lock :
         {fair.obtain("fair"), std::shared_ptr<Lock>(table), reads,
          std::shared_ptr<Lock>(permits.obtain("permits")), std::shared_ptr<Lock>(both)}) {
      const AsyncLock awaitable(scene.host, lock);
      Outcome first(fixture.runtime), second(fixture.runtime), ended(fixture.runtime);
      acquire({}, awaitable, first);
      first.ended.wait();
      acquire({}, awaitable, second);
      if (lock != reads) {
        fixture.runtime.sleep_for(10ms);
        EXPECT_EQ(second.ended.given(), 0) << lock->key();
      }
      ended.hold = std::move(first.hold);
      release({}, ended);
      second.ended.wait();
      EXPECT_EQ(first.failure + second.failure + ended.failure, "") << lock->key();
      EXPECT_TRUE(second.hold.is_held()) << lock->key();
      ended.ended.wait();
    }
  });
}

TEST_P(AsyncLockTest, TheEndOfTheHostEndsWhatWaits) {
  run([](Fixture& fixture) {
    Scene scene(fixture);
    const auto holder = scene.others.obtain("k");
    holder->lock();
    Outcome outcome(fixture.runtime);
    auto host = std::make_shared<RuntimeHost>(fixture.runtime);
    auto lock = std::make_unique<AsyncLock>(host, scene.blocking->obtain("k"));
    acquire({}, *lock, outcome);
    fixture.runtime.sleep_for(10ms);
    lock = nullptr;
    host->end();
    outcome.ended.wait(1);
    EXPECT_EQ(outcome.failure, "interrupted");
    acquire({}, AsyncLock(host, scene.blocking->obtain("k")), outcome);
    outcome.ended.wait(2);
    EXPECT_EQ(outcome.failure, "unavailable");
  });
}

}  // namespace
}  // namespace holdfast::async
