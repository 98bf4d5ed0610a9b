// What every Runtime promises, case by case, on every implementation: threads, fibers in virtual time, fibers
// on an event loop.
//
// Waits are bounded by generous deadlines that a sound implementation never reaches; nothing is measured.
#include "lib/runtime/runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/testing/ports.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using redis::testing::Ports;

class RuntimeConformance : public ::testing::TestWithParam<Ports> {
 protected:
  void on(const std::function<void(Runtime&)>& body) {
    redis::testing::on_ports(GetParam(), [&](Runtime& runtime, Network&) { body(runtime); });
  }
};
INSTANTIATE_TEST_SUITE_P(Implementations, RuntimeConformance, redis::testing::all_ports(),
                         [](const auto& info) { return to_string(info.param); });

MonotonicTime soon(Runtime& runtime) { return runtime.now() + 30s; }

// --- clocks ---------------------------------------------------------------------------------------------

TEST_P(RuntimeConformance, MonotonicTimeNeverRunsBackAndSleepLasts) {
  on([](Runtime& runtime) {
    MonotonicTime last = runtime.now();
    for (int i = 0; i < 100; ++i) {
      const MonotonicTime now = runtime.now();
      EXPECT_GE(now, last);
      last = now;
    }
    runtime.sleep_for(5ms);
    EXPECT_GE(runtime.now() - last, 5ms);
    runtime.sleep_for(-1s);                                            // in the past: returns
    runtime.sleep_until(last);                                         // likewise
    EXPECT_GT(runtime.wall_now().time_since_epoch(), 24h * 365 * 50);  // a calendar, not an uptime
  });
}

// --- tasks that end themselves --------------------------------------------------------------------------

TEST_P(RuntimeConformance, ATaskThatJoinsItselfGoesOnAlone) {
  on([](Runtime& runtime) {
    std::atomic<bool> stored = false, ended = false;
    Parker& parent = runtime.parker();
    {
      auto mine = std::make_shared<Task>();
      *mine = runtime.spawn("lonely", [&, mine] {
        while (!stored) runtime.sleep_for(1ms);
        mine->join();  // by itself
        runtime.sleep_for(2ms);
        ended = true;
        parent.unpark();
      });
      stored = true;
    }
    while (!ended) parent.park_until(soon(runtime));
    EXPECT_TRUE(ended);
  });
}

// --- parking --------------------------------------------------------------------------------------------

TEST_P(RuntimeConformance, UnparkBeforeParkIsNotLost) {
  on([](Runtime& runtime) {
    Parker& parker = runtime.parker();
    parker.unpark();
    parker.unpark();  // two are one
    EXPECT_TRUE(parker.park_until(soon(runtime)));
    EXPECT_FALSE(parker.park_until(runtime.now() + 2ms));
    EXPECT_FALSE(parker.park_until(runtime.now() - 1s));
  });
}

TEST_P(RuntimeConformance, UnparkWakesAndShowsWhatWasWrittenBefore) {
  on([](Runtime& runtime) {
    Parker& parker = runtime.parker();
    int value = 0;
    Task task = runtime.spawn("writer", [&] {
      runtime.sleep_for(2ms);
      value = 42;
      parker.unpark();
    });
    EXPECT_TRUE(parker.park_until(soon(runtime)));
    EXPECT_EQ(value, 42);
  });
}

TEST_P(RuntimeConformance, ParkedWithoutADeadlineUntilWoken) {
  on([](Runtime& runtime) {
    Parker& parker = runtime.parker();
    const Task waker = runtime.spawn("waker", [&] {
      runtime.sleep_for(2ms);
      parker.unpark();
    });
    EXPECT_TRUE(parker.park_until(kNever));
  });
}

// Two tasks hand a ball to and fro: no wake-up is lost however the calls fall.
TEST_P(RuntimeConformance, NoWakeUpIsLost) {
  on([](Runtime& runtime) {
    constexpr int kRounds = 500;
    std::array<Parker*, 2> parkers{&runtime.parker(), nullptr};
    std::atomic<int> ball = -1;
    Task other = runtime.spawn("player", [&] {
      parkers[1] = &runtime.parker();
      ball = 0;
      parkers[0]->unpark();
      for (int round = 1; round <= kRounds; round += 2) {
        while (ball != round) ASSERT_TRUE(runtime.parker().park_until(soon(runtime)));
        ball = round + 1;
        parkers[0]->unpark();
      }
    });
    for (int round = 0; round <= kRounds; round += 2) {
      while (ball != round) ASSERT_TRUE(runtime.parker().park_until(soon(runtime)));
      if (round == kRounds) break;
      ball = round + 1;
      parkers[1]->unpark();
    }
    other.join();
    EXPECT_EQ(ball, kRounds);
  });
}

// --- tasks ----------------------------------------------------------------------------------------------

TEST_P(RuntimeConformance, JoinWaitsForTheBody) {
  on([](Runtime& runtime) {
    std::atomic<bool> go = false, done = false;
    Task task = runtime.spawn("client", [&] {
      while (!go) runtime.sleep_for(1ms);
      done = true;
    });
    EXPECT_FALSE(task.finished());
    go = true;
    task.join();
    EXPECT_TRUE(done);
    EXPECT_FALSE(task.joinable());
    task.join();  // again: no effect
    {
      done = false;
      const Task joined_by_its_destructor = runtime.spawn("client", [&] {
        runtime.sleep_for(3ms);
        done = true;
      });
    }
    EXPECT_TRUE(done);
    Task replaced = runtime.spawn("client", [] {});
    replaced = runtime.spawn("client", [] {});
    replaced.join();
  });
}

TEST_P(RuntimeConformance, TasksHaveIdsAndSlotsOfTheirOwn) {
  on([](Runtime& runtime) {
    static const int kKey = 0;
    constexpr std::size_t kTasks = 20;
    std::vector<TaskId> ids(kTasks);
    std::vector<Task> tasks;
    runtime.task_local_slot(&kKey) = std::string("mine");
    for (std::size_t i = 0; i < kTasks; ++i) {
      tasks.push_back(runtime.spawn("client", [&, i] {
        ids[i] = runtime.task_id();
        std::any& slot = runtime.task_local_slot(&kKey);
        EXPECT_FALSE(slot.has_value());
        slot = static_cast<int>(i);
        runtime.yield();
        EXPECT_EQ(runtime.task_id(), ids[i]);
        EXPECT_EQ(std::any_cast<int>(runtime.task_local_slot(&kKey)), static_cast<int>(i));
      }));
    }
    tasks.clear();
    std::set<TaskId> different(ids.begin(), ids.end());
    different.insert(runtime.task_id());
    EXPECT_EQ(different.size(), kTasks + 1);
    EXPECT_FALSE(different.contains(0));
    EXPECT_EQ(std::any_cast<std::string>(runtime.task_local_slot(&kKey)), "mine");
    runtime.task_local_slot(&kKey).reset();
  });
}

TEST_P(RuntimeConformance, SlotsEndWithTheirTask) {
  on([](Runtime& runtime) {
    static const int kKey = 0;
    const auto shared = std::make_shared<int>(1);
    runtime.spawn("client", [&] { runtime.task_local_slot(&kKey) = shared; }).join();
    EXPECT_EQ(shared.use_count(), 1);
  });
}

TEST_P(RuntimeConformance, YieldLetsEveryOtherRunnableTaskRun) {
  on([](Runtime& runtime) {
    std::atomic<int> started = 0;
    std::atomic<bool> go = false;
    std::vector<Task> tasks;
    for (int i = 0; i < 5; ++i) {
      tasks.push_back(runtime.spawn("client", [&] {
        ++started;
        while (!go) runtime.yield();  // on fibers this would hang if yield() kept the processor
      }));
    }
    while (started < 5) runtime.yield();
    go = true;
  });
}

TEST_P(RuntimeConformance, TasksSpawnTasks) {
  on([](Runtime& runtime) {
    std::atomic<int> leaves = 0;
    std::function<void(int)> grow = [&](int depth) {
      if (depth == 0) {
        ++leaves;
        return;
      }
      const Task left = runtime.spawn("branch", [&, depth] { grow(depth - 1); });
      const Task right = runtime.spawn("branch", [&, depth] { grow(depth - 1); });
    };
    grow(5);
    EXPECT_EQ(leaves, 32);
  });
}

TEST_P(RuntimeConformance, CancellationEndsItsTaskAlone) {
  on([](Runtime& runtime) {
    bool after = false;
    Task task = runtime.spawn("client", [&] {
      if (runtime.task_id() != 0) throw TaskCancelled();
      after = true;
    });
    task.join();
    EXPECT_FALSE(after);
  });
}

TEST_P(RuntimeConformance, WhatATaskCapturedIsGoneWhenItIsJoined) {
  on([](Runtime& runtime) {
    const auto shared = std::make_shared<int>(1);
    runtime.spawn("client", [shared] { EXPECT_GE(shared.use_count(), 2); }).join();
    EXPECT_EQ(shared.use_count(), 1);
  });
}

// --- mutex and condition --------------------------------------------------------------------------------

TEST_P(RuntimeConformance, MutexExcludes) {
  on([](Runtime& runtime) {
    Mutex mutex(runtime);
    int inside = 0, most = 0, sum = 0;
    std::vector<Task> tasks;
    for (int i = 0; i < 8; ++i) {
      tasks.push_back(runtime.spawn("client", [&] {
        for (int round = 0; round < 25; ++round) {
          const std::lock_guard guard(mutex);
          most = std::max(most, ++inside);
          ++sum;
          if (round % 8 == 0) runtime.yield();
          --inside;
        }
      }));
    }
    tasks.clear();
    EXPECT_EQ(most, 1);
    EXPECT_EQ(sum, 200);
  });
}

TEST_P(RuntimeConformance, TryLockDoesNotWait) {
  on([](Runtime& runtime) {
    Mutex mutex(runtime), other(runtime);
    std::unique_lock held(mutex);
    runtime.spawn("client", [&] { EXPECT_FALSE(mutex.try_lock()); }).join();
    held.unlock();
    runtime
        .spawn("client",
               [&] {
                 const std::scoped_lock both(mutex, other);  // needs try_lock of both
               })
        .join();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST_P(RuntimeConformance, ConditionTimesOutAndWakes) {
  on([](Runtime& runtime) {
    Mutex mutex(runtime);
    Condition condition(runtime);
    std::unique_lock lock(mutex);
    bool ready = false;
    EXPECT_FALSE(condition.wait_until(lock, runtime.now() + 2ms, [&] { return ready; }));
    EXPECT_TRUE(lock.owns_lock());
    Task task = runtime.spawn("client", [&] {
      const std::lock_guard guard(mutex);
      ready = true;
      condition.notify_one();
    });
    EXPECT_TRUE(condition.wait_until(lock, soon(runtime), [&] { return ready; }));
    lock.unlock();
    task.join();
  });
}

TEST_P(RuntimeConformance, NotifyAllWakesEverybody) {
  on([](Runtime& runtime) {
    Mutex mutex(runtime);
    Condition condition(runtime), arrived(runtime);
    int waiting = 0, woken = 0;
    bool go = false;
    std::vector<Task> tasks;
    for (int i = 0; i < 10; ++i) {
      tasks.push_back(runtime.spawn("client", [&] {
        std::unique_lock lock(mutex);
        ++waiting;
        arrived.notify_one();
        if (condition.wait_until(lock, soon(runtime), [&] { return go; })) ++woken;
      }));
    }
    {
      std::unique_lock lock(mutex);
      EXPECT_TRUE(arrived.wait_until(lock, soon(runtime), [&] { return waiting == 10; }));
      go = true;
      condition.notify_all();
    }
    tasks.clear();
    EXPECT_EQ(woken, 10);
  });
}

TEST_P(RuntimeConformance, AStopRequestCanWakeAWaiter) {
  on([](Runtime& runtime) {
    std::stop_source source;
    Parker& parker = runtime.parker();
    const std::stop_callback wake(source.get_token(), [&] { parker.unpark(); });
    Task task = runtime.spawn("stopper", [&] {
      runtime.sleep_for(2ms);
      source.request_stop();
    });
    const MonotonicTime end = soon(runtime);
    bool woken = true;  // also by what is left over from an earlier test on this thread
    while (woken && !source.stop_requested()) woken = parker.park_until(end);
    EXPECT_TRUE(woken);
  });
}

TEST_P(RuntimeConformance, AMutexIsHeldAcrossASleep) {
  on([](Runtime& runtime) {
    Mutex mutex(runtime);
    std::vector<int> order;
    Task other;
    {
      const std::lock_guard guard(mutex);
      other = runtime.spawn("client", [&] {
        const std::lock_guard mine(mutex);
        order.push_back(2);
      });
      runtime.sleep_for(3ms);
      order.push_back(1);
    }
    other.join();
    EXPECT_EQ(order, (std::vector{1, 2}));
  });
}

// A bounded queue between three producers and three consumers.
TEST_P(RuntimeConformance, ConditionsCarryAQueue) {
  on([](Runtime& runtime) {
    constexpr int kItems = 100, kRoom = 4, kSides = 3;
    Mutex mutex(runtime);
    Condition filled(runtime), drained(runtime);
    std::vector<int> queue;
    int sum = 0, taken = 0;
    std::vector<Task> tasks;
    for (int side = 0; side < kSides; ++side) {
      tasks.push_back(runtime.spawn("producer", [&] {
        for (int item = 1; item <= kItems; ++item) {
          std::unique_lock lock(mutex);
          ASSERT_TRUE(drained.wait_until(lock, soon(runtime), [&] { return queue.size() < kRoom; }));
          queue.push_back(item);
          filled.notify_one();
        }
      }));
      tasks.push_back(runtime.spawn("consumer", [&] {
        for (int item = 1; item <= kItems; ++item) {
          std::unique_lock lock(mutex);
          ASSERT_TRUE(filled.wait_until(lock, soon(runtime), [&] { return !queue.empty(); }));
          sum += queue.back();
          queue.pop_back();
          ++taken;
          drained.notify_one();
        }
      }));
    }
    tasks.clear();
    EXPECT_EQ(taken, kSides * kItems);
    EXPECT_EQ(sum, kSides * kItems * (kItems + 1) / 2);
  });
}

TEST_P(RuntimeConformance, ManyWaitersTimeOutEachAtItsOwnDeadline) {
  on([](Runtime& runtime) {
    Mutex mutex(runtime);
    Condition condition(runtime);
    int timed_out = 0;
    std::vector<Task> tasks;
    for (int i = 0; i < 20; ++i) {
      tasks.push_back(runtime.spawn("client", [&, i] {
        std::unique_lock lock(mutex);
        const MonotonicTime deadline = runtime.now() + std::chrono::milliseconds(20 - i);
        while (condition.wait_until(lock, deadline) == std::cv_status::no_timeout) {
        }
        EXPECT_GE(runtime.now(), deadline);
        ++timed_out;
      }));
    }
    tasks.clear();
    EXPECT_EQ(timed_out, 20);
  });
}

// --- randomness -----------------------------------------------------------------------------------------

TEST_P(RuntimeConformance, RandomBetweenStaysInBoundsAndReachesThem) {
  on([](Runtime& runtime) {
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 500; ++i) {
      const std::uint64_t drawn = runtime.random_between(3, 6);
      EXPECT_GE(drawn, 3u);
      EXPECT_LE(drawn, 6u);
      seen.insert(drawn);
    }
    EXPECT_EQ(seen.size(), 4u);
    EXPECT_EQ(runtime.random_between(9, 9), 9u);
    std::set<std::uint64_t> wide;
    for (int i = 0; i < 100; ++i) wide.insert(runtime.random_between(0, UINT64_MAX));
    EXPECT_EQ(wide.size(), 100u);
  });
}

}  // namespace
}  // namespace holdfast
