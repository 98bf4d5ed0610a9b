// The loop of an application (loop.h) and its client, on a real Redis and from several threads.
#include "lib/async/loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lib/async/loop_client.h"
#include "lib/async/loop_network.h"
#include "lib/async/testing/coroutine.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/net/socket_network.h"
#include "lib/redis/threaded_client.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::async {
namespace {

using namespace std::chrono_literals;
using testing::Coroutine;

class AsyncLoopTest : public ::testing::Test {
 protected:
  void SetUp() override { redis_.start(); }
  std::string url() const { return "redis://" + redis_.endpoint().to_string(); }

  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  const TemporaryFolder folder_;
  RedisProcess redis_{runtime_, network_, {.folder = folder_.path()}};
};

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(AsyncLoop, CallsRunOnItsThreadAndReturnWhatTheyReturn) {
  Loop loop;
  const std::thread::id here = std::this_thread::get_id();
  const std::thread::id there = loop.call([] { return std::this_thread::get_id(); });
  EXPECT_NE(there, here);
  EXPECT_EQ(loop.call([] { return std::this_thread::get_id(); }), there);
  EXPECT_THROW(loop.call([] { throw std::runtime_error("x"); }), std::runtime_error);
  EXPECT_EQ(loop.call([&] { return loop.call([] { return std::this_thread::get_id(); }); }), there);
}

TEST(AsyncLoop, PostedWorkRunsOnTasksOfItsOwnThatMayWait) {
  Loop loop;
  std::latch done(3);
  std::atomic<bool> second = false;
  loop.post([&] {
    while (!second) loop.runtime().sleep_for(1ms);  // parks: the others go on
    done.count_down();
  });
  loop.post([&] {
    second = true;
    loop.post([&] { done.count_down(); });
    done.count_down();
  });
  done.wait();
}

TEST(AsyncLoop, ManyThreadsMayPost) {
  std::atomic<int> ran = 0;
  {
    Loop loop;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 1000; ++k) EXPECT_TRUE(loop.post([&] { ++ran; }));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }  // its end waits for them
  EXPECT_EQ(ran, 4000);
}

TEST(AsyncLoop, WithoutAThreadItRunsWhileSomebodyRunsIt) {
  Loop loop({.own_thread = false});
  std::atomic<bool> ran = false;
  EXPECT_TRUE(loop.post([&] { ran = true; }));
  EXPECT_FALSE(ran);
  EXPECT_EQ(loop.call([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
  EXPECT_TRUE(ran);
  std::thread::id runs;
  std::thread runner([&] { loop.run(); });
  loop.call([&] { runs = std::this_thread::get_id(); });  // by either thread
  loop.stop();
  runner.join();
  loop.run();  // returns at once
}

TEST(AsyncLoop, ATaskMayStopIt) {
  Loop loop({.own_thread = false});
  std::vector<std::string> log;
  EXPECT_TRUE(loop.post([&] {
    loop.stop();
    log.push_back("asked");
    EXPECT_TRUE(loop.post([&] { log.push_back("posted meanwhile"); }));
  }));
  loop.run();
  EXPECT_EQ(log, (std::vector<std::string>{"asked", "posted meanwhile"}));
  EXPECT_FALSE(loop.post([] {}));
}

TEST(AsyncLoop, WhatWasMadeOnItIsDestroyedOnItAlsoAfterItsEnd) {
  struct Thing {
    explicit Thing(Loop& its_loop) : host(its_loop.host()), made_here(host->is_here()) {}
    ~Thing() { *destroyed_here = host->is_here(); }
    const std::shared_ptr<Host> host;
    const bool made_here;
    bool* destroyed_here = nullptr;
  };
  bool first = false, second = false;
  std::shared_ptr<Thing> late;
  {
    Loop loop;
    auto soon = loop.make<Thing>(loop);
    EXPECT_TRUE(soon->made_here);
    soon->destroyed_here = &first;
    soon = nullptr;
    EXPECT_TRUE(first);
    late = loop.make<Thing>(loop);
    late->destroyed_here = &second;
  }
  late = nullptr;
  EXPECT_TRUE(second);
}

TEST(AsyncLoop, ItsClocksAreThoseOfThreads) {
  const ThreadRuntime threads;
  Loop loop;
  const MonotonicTime before = threads.now(), between = loop.runtime().now(), after = threads.now();
  // CLOCK_BOOTTIME has been seen to go back by 10 ns from one processor to another.
  EXPECT_LE(before, between + 1us);
  EXPECT_LE(between, after + 1us);
  EXPECT_LT(loop.runtime().wall_now() - threads.wall_now(), 10s);
  EXPECT_NE(loop.call([&] { return loop.runtime().random(); }),
            loop.call([&] { return loop.runtime().random(); }));
}

std::latch* name_is_looked_up = nullptr;
std::vector<std::string> slow_resolver(const std::string& name) {
  name_is_looked_up->wait();
  return name == "nowhere" ? std::vector<std::string>{} : std::vector<std::string>{"::1", "127.0.0.1"};
}

TEST(AsyncLoop, OtherTasksGoOnWhileANameIsLookedUp) {
  std::latch other_task_ran(1);
  name_is_looked_up = &other_task_ran;
  Loop loop;
  loop.call([&] {
    LoopNetwork network(loop.runtime(), &slow_resolver);
    const auto listener = network.listen({"127.0.0.1", 0});
    loop.post([&] { other_task_ran.count_down(); });
    const Connected connected = network.connect({"somewhere", listener->endpoint().port}, kNever);
    EXPECT_EQ(connected.status, IoStatus::ok);
    EXPECT_EQ(network.connect({"nowhere", 1}, kNever).status, IoStatus::unreachable);
  });
}

TEST(AsyncLoop, ALookUpEndsAtTheDeadline) {
  std::latch never(1);
  name_is_looked_up = &never;
  Loop loop;
  loop.call([&] {
    LoopNetwork network(loop.runtime(), &slow_resolver);
    EXPECT_EQ(network.connect({"somewhere", 1}, loop.runtime().now() + 1ms).status, IoStatus::timed_out);
  });
  never.count_down();
}

TEST(AsyncLoop, ANameThatCannotBeLookedUpNowIsNoWrongName) {
  Loop loop;
  loop.call([&] {
    LoopNetwork network(loop.runtime(), [](const std::string&) -> std::vector<std::string> {
      throw std::runtime_error("the resolver is down");
    });
    const Connected connected = network.connect({"somewhere", 1}, kNever);
    EXPECT_EQ(connected.status, IoStatus::timed_out);
    EXPECT_EQ(connected.why, "the resolver is down");
  });
}

TEST(AsyncLoop, ASilentAddressLeavesTimeForTheNext) {
  Loop loop;
  loop.call([&] {
    LoopNetwork network(loop.runtime(), [](const std::string&) -> std::vector<std::string> {
      return {"127.0.0.2", "127.0.0.3"};
    });
    SocketNetwork narrow(loop.runtime(), {.backlog = 1});
    const auto silent = narrow.listen({"127.0.0.2", 0});
    const auto good = narrow.listen({"127.0.0.3", silent->endpoint().port});
    std::vector<std::unique_ptr<Stream>> queued;  // whoever comes beyond those is not answered
    for (IoStatus status = IoStatus::ok; status == IoStatus::ok && queued.size() < 100;) {
      Connected one = network.connect(silent->endpoint(), loop.runtime().now() + 20ms);
      status = one.status;
      queued.push_back(std::move(one.stream));
    }
    const Connected connected =
        network.connect({"somewhere", silent->endpoint().port}, loop.runtime().now() + 400ms);
    ASSERT_EQ(connected.status, IoStatus::ok);
    EXPECT_EQ(connected.stream->peer(), good->endpoint());
  });
}

Coroutine hold_once(Executor, AsyncLock lock, std::atomic<int>& held, std::latch& done) {
  Hold hold = co_await lock.async_lock();
  ++held;
  co_await std::move(hold).async_release();
  done.count_down();
}

TEST_F(AsyncLoopTest, ThousandsWaitOnOneThreadAndAllGetTheirTurn) {
  constexpr int kWaits = 2000;
  redis::ThreadedClient other(url());
  ReentrantLocks others(other, {.lease = 60s});
  redis::ClientOptions patient = redis::options_from_url(url());
  patient.command_timeout = 5min;  // thousands begin at once, and a sanitizer is slow to map their stacks
  LoopClient client(patient);
  const AsyncLocks locks = client.locks<ReentrantLocks>(LockOptions{.lease = 60s});
  std::atomic<int> held = 0;
  std::latch warm(1), done(kWaits);
  hold_once({}, locks.obtain("warm"), held, warm);
  warm.wait();
  std::vector<std::shared_ptr<Lock>> holders;
  for (int key = 0; key < 20; ++key) {
    holders.push_back(others.obtain("k" + std::to_string(key)));
    holders.back()->lock();
  }
  const std::size_t before = threads_of_this_process();
  for (int i = 0; i < kWaits; ++i) hold_once({}, locks.obtain("k" + std::to_string(i % 20)), held, done);
  client.loop().call([] {});  // all of them have begun
  EXPECT_EQ(held, 1);
  EXPECT_LT(threads_of_this_process(), before + 20) << "waiting costs threads";
  for (const auto& holder : holders) holder->unlock();
  done.wait();
  EXPECT_EQ(held, 1 + kWaits);
}

struct Pool {  // an executor with a thread
  ~Pool() {
    stop = true;
    unparked.notify();
    thread.join();
  }
  Executor executor() {
    return [this](std::function<void()> work) { unparked.put(std::move(work)); };
  }
  struct Queue {
    void put(std::function<void()> one) {
      {
        const std::lock_guard guard(mutex);
        work.push_back(std::move(one));
      }
      changed.notify_all();
    }
    void notify() {
      const std::lock_guard guard(mutex);
      changed.notify_all();
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::function<void()>> work;
  };
  Queue unparked;
  std::atomic<bool> stop = false;
  std::thread thread{[this] {
    std::unique_lock guard(unparked.mutex);
    while (!stop || !unparked.work.empty()) {
      if (unparked.work.empty()) {
        unparked.changed.wait(guard);
        continue;
      }
      const auto work = std::exchange(unparked.work, {});
      guard.unlock();
      for (const auto& one : work) one();
      guard.lock();
    }
  }};
};

TEST_F(AsyncLoopTest, ACoroutineOfAnotherThreadGoesOnThere) {
  Pool pool;
  LoopClient client(url());
  const AsyncLocks locks = client.locks<ReentrantLocks>(LockOptions{.lease = 60s});
  std::latch done(100);
  std::atomic<int> elsewhere = 0;
  const auto work = [](Executor, AsyncLock lock, std::thread::id own, std::atomic<int>& elsewhere,
                       std::latch& done) -> Coroutine {
    Hold hold = co_await lock.async_lock();
    if (std::this_thread::get_id() != own) ++elsewhere;
    co_await std::move(hold).async_release();
    if (std::this_thread::get_id() != own) ++elsewhere;
    done.count_down();
  };
  pool.executor()([&] {
    for (int i = 0; i < 100; ++i)
      work(pool.executor(), locks.obtain("k"), pool.thread.get_id(), elsewhere, done);
  });
  done.wait();
  EXPECT_EQ(elsewhere, 0);
}

// Requests to stop come from many threads while the holder passes the lock on: each acquire ends once, and
// in the end nobody holds the lock.
TEST_F(AsyncLoopTest, StopRequestsRaceWithGrants) {
  LoopClient client(url());
  const AsyncLocks locks = client.locks<ReentrantLocks>(LockOptions{.lease = 60s});
  constexpr int kRounds = 500;
  std::latch done(kRounds);
  std::atomic<int> granted = 0, interrupted = 0;
  const auto work = [](Executor, AsyncLock lock, std::stop_token stop, std::atomic<int>& granted,
                       std::atomic<int>& interrupted, std::latch& done) -> Coroutine {
    try {
      const Hold hold = co_await lock.async_lock(std::move(stop));
      ++granted;
    } catch (const Interrupted&) {
      ++interrupted;
    }
    done.count_down();
  };
  Pool pool, another;
  for (int i = 0; i < kRounds; ++i) {
    std::stop_source stop;
    work(pool.executor(), locks.obtain("k"), stop.get_token(), granted, interrupted, done);
    if (i % 2 == 0) {
      another.executor()([stop]() mutable { stop.request_stop(); });
    } else if (i % 3 == 0) {
      stop.request_stop();
    }
  }
  done.wait();
  EXPECT_EQ(granted + interrupted, kRounds);
  EXPECT_GT(granted, 0);
  redis::ThreadedClient other(url());
  ReentrantLocks others(other, {.lease = 60s});
  EXPECT_TRUE(others.obtain("k")->try_lock_for(20s));
}

TEST_F(AsyncLoopTest, ItsEndInterruptsWhatWaits) {
  redis::ThreadedClient other(url());
  ReentrantLocks others(other, {.lease = 60s});
  const auto holder = others.obtain("k");
  holder->lock();
  std::atomic<int> interrupted = 0;
  {
    LoopClient client(url());
    const AsyncLocks locks = client.locks<ReentrantLocks>(LockOptions{.lease = 60s});
    const auto work = [](Executor, AsyncLock lock, std::atomic<int>& interrupted) -> Coroutine {
      try {
        static_cast<void>(co_await lock.async_lock());
      } catch (const Interrupted&) {
        ++interrupted;
      }
    };
    for (int i = 0; i < 50; ++i) work({}, locks.obtain("k"), interrupted);
    client.loop().stop();
    EXPECT_EQ(interrupted, 50);
    bool unavailable = false;
    const auto late = [](Executor, AsyncLock lock, bool& unavailable) -> Coroutine {
      try {
        static_cast<void>(co_await lock.async_lock());
      } catch (const Unavailable&) {
        unavailable = true;
      }
    };
    late({}, locks.obtain("k"), unavailable);
    EXPECT_TRUE(unavailable) << "a loop that has ended resumes at once";
  }
  holder->unlock();
  EXPECT_TRUE(holder->try_lock_for(20s));
}

TEST_F(AsyncLoopTest, LocksAndHoldsMayOutliveTheirClient) {
  std::optional<AsyncLocks> locks;
  std::optional<AsyncLock> lock;
  Hold hold;
  std::latch done(1);
  {
    LoopClient client(url());
    locks = client.locks<ReentrantLocks>(LockOptions{.lease = 60s});
    lock = locks->obtain("k");
    const auto work = [](Executor, AsyncLock lock, Hold& hold, std::latch& done) -> Coroutine {
      hold = co_await lock.async_lock();
      done.count_down();
    };
    work({}, *lock, hold, done);
    done.wait();
  }
  EXPECT_EQ(hold.key(), "k");
  hold = Hold();  // left to its lease
  redis::ThreadedClient other(url());
  EXPECT_EQ(other->call({"EXISTS", "k"}).reply.integer, 1);
}

}  // namespace
}  // namespace holdfast::async
