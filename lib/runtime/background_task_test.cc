#include "lib/runtime/background_task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/runtime/task_pool.h"
#include "lib/testing/failing_spawns.h"
#include "lib/testing/ports.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::FailingSpawns;
using testing::Sign;

class BackgroundTaskOn : public ::testing::TestWithParam<redis::testing::Ports> {
 protected:
  static void run(const std::function<void(Runtime&)>& body) {
    redis::testing::on_ports(GetParam(), [&](Runtime& runtime, Network&) { body(runtime); });
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, BackgroundTaskOn, redis::testing::all_ports(),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(BackgroundTaskOn, StartsAgainAfterItRested) {
  run([](Runtime& runtime) {
    Mutex mutex(runtime);
    Sign ran(runtime);
    BackgroundTask task(runtime, "worker");
    for (int i = 1; i <= 3; ++i) {
      {
        const std::scoped_lock guard(mutex);
        EXPECT_TRUE(task.start([&] {
          const std::scoped_lock inside(mutex);
          BackgroundTask::Turn turn(task);
          EXPECT_TRUE(task.is_caller());
          turn.rest();
          EXPECT_FALSE(task.running());
          ran.give();
        }));
        EXPECT_TRUE(task.running());
      }
      ran.wait(i);
    }
  });
}

TEST_P(BackgroundTaskOn, AFailedStartDisablesNothing) {
  run([](Runtime& real) {
    FailingSpawns runtime(real);
    Mutex mutex(runtime);
    BackgroundTask task(runtime, "worker");
    runtime.fail_next(2);
    Sign ran(real);
    const auto start = [&] {
      const std::scoped_lock guard(mutex);
      return task.start([&] { ran.give(); });
    };
    EXPECT_FALSE(start());
    EXPECT_FALSE(task.running());
    EXPECT_FALSE(start());
    EXPECT_TRUE(start());
    ran.wait();
    task.join();
  });
}

TEST_P(BackgroundTaskOn, MayBeEndedByItsOwnBody) {
  run([](Runtime& runtime) {
    Sign ready(runtime), gone(runtime);
    auto task = std::make_unique<BackgroundTask>(runtime, "worker");
    ASSERT_TRUE(task->start([&] {
      ready.wait();
      task.reset();
      gone.give();
    }));
    ready.give();
    gone.wait();
  });
}

TEST_P(BackgroundTaskOn, APoolRunsEachJobAtOnceAndMayBeEndedByOne) {
  run([](Runtime& real) {
    FailingSpawns runtime(real);
    auto pool = std::make_unique<TaskPool>(runtime, "job");
    Sign begun(real), slow(real), quick(real), gone(real);
    ASSERT_TRUE(pool->run([&] {
      begun.give();
      slow.wait();
    }));
    begun.wait();
    ASSERT_TRUE(pool->run([&] { quick.give(); }));
    quick.wait();  // though the one before it is not done
    slow.give();
    pool = std::make_unique<TaskPool>(runtime, "job");
    runtime.fail_next(1);
    EXPECT_FALSE(pool->run([] { ADD_FAILURE() << "dropped"; }));
    Sign ready(real);
    ASSERT_TRUE(pool->run([&] {
      ready.wait();
      pool.reset();
      gone.give();
    }));
    ready.give();
    gone.wait();
  });
}

TEST_P(BackgroundTaskOn, APoolRunsAllBesideEachOtherOrHereOneAfterTheOther) {
  run([](Runtime& real) {
    FailingSpawns runtime(real);
    TaskPool pool(runtime, "job");
    Sign one(real), two(real);
    bool third = false;
    pool.run_all({[&] {
                    one.give();
                    two.wait();
                  },
                  [&] {
                    one.wait();
                    two.give();
                  },
                  [&] { third = true; }});
    EXPECT_TRUE(third);
    pool.run_all({});

    TaskPool without(runtime, "job");
    runtime.fail_next(2);
    std::vector<int> done;
    without.run_all({[&] { done.push_back(1); }, [&] { done.push_back(2); }, [&] { done.push_back(3); }});
    EXPECT_EQ(done, (std::vector<int>{3, 1, 2}));
  });
}

}  // namespace
}  // namespace holdfast
