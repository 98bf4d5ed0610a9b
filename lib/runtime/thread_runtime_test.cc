// What is special about threads; what every runtime promises is in runtime_conformance_test.cc.
#include "lib/runtime/thread_runtime.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <chrono>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(ThreadRuntime, ThreadsOfTheApplicationMayUseIt) {
  ThreadRuntime runtime;
  Mutex mutex(runtime);
  Condition condition(runtime);
  Parker* parker = nullptr;
  std::set<TaskId> ids{runtime.task_id()};
  std::thread foreign([&] {
    {
      const std::lock_guard guard(mutex);
      ids.insert(runtime.task_id());
      parker = &runtime.parker();
      condition.notify_one();
    }
    EXPECT_TRUE(runtime.parker().park_until(runtime.now() + 30s));
  });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(condition.wait_until(lock, runtime.now() + 30s, [&] { return parker != nullptr; }));
  }
  parker->unpark();
  foreign.join();
  EXPECT_EQ(ids.size(), 2u);
}

TEST(ThreadRuntime, SlotsOfAForeignThreadEndWithIt) {
  ThreadRuntime runtime;
  static const int kKey = 0;
  const auto shared = std::make_shared<int>(1);
  std::thread([&] { runtime.task_local_slot(&kKey) = shared; }).join();
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(ThreadRuntime, TheRoleIsTheNameOfTheThread) {
  ThreadRuntime runtime;
  char name[16] = "";
  runtime.spawn("subscription-to-releases", [&] { pthread_getname_np(pthread_self(), name, sizeof name); })
      .join();
  EXPECT_STREQ(name, "subscription-to");  // as much as the kernel keeps
}

TEST(ThreadRuntime, MonotonicTimeCountsTheTimeInSuspend) {
  ThreadRuntime runtime;
  const auto boot = [] {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return MonotonicTime(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
  };
  const MonotonicTime before = boot();
  const MonotonicTime now = runtime.now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, boot());
}

TEST(ThreadRuntime, TasksOfTwoRuntimesShareOneCountOfIds) {
  ThreadRuntime one, two;
  EXPECT_EQ(one.task_id(), two.task_id());  // the same thread
  TaskId other = 0;
  two.spawn("client", [&] { other = two.task_id(); }).join();
  EXPECT_NE(one.task_id(), other);
}

TEST(ThreadRuntimeDeathTest, AnErrorThatLeavesATaskEndsTheProgram) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        ThreadRuntime runtime;
        runtime.spawn("client", [] { throw std::runtime_error("lost in a task"); }).join();
      },
      "lost in a task");
}

}  // namespace
}  // namespace holdfast
