#include "lib/lock/waiting/local_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <mutex>
#include <vector>

#include "lib/runtime/thread_runtime.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using Entry = LocalQueue::Entry;

TEST(LocalQueueTest, FirstComeFirstServed) {
  ThreadRuntime runtime;
  LocalQueue turn(runtime, 10);
  EXPECT_EQ(turn.enter(kNever, {}), Entry::granted);
  std::vector<int> order;
  std::atomic<int> queued = 0;
  std::list<Task> tasks;
  for (int i = 0; i < 5; ++i) {
    tasks.push_back(runtime.spawn("client", [&, i] {
      ++queued;
      EXPECT_EQ(turn.enter(kNever, {}), Entry::granted);
      order.push_back(i);  // under the turn
      turn.pass();
    }));
    while (queued <= i || turn.waiting() <= static_cast<std::size_t>(i)) runtime.yield();
  }
  turn.pass();
  tasks.clear();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(LocalQueueTest, Bounded) {
  ThreadRuntime runtime;
  LocalQueue turn(runtime, 0);
  EXPECT_TRUE(turn.try_enter());
  EXPECT_FALSE(turn.try_enter());
  EXPECT_EQ(turn.enter(kNever, {}), Entry::full);
  turn.pass();
  EXPECT_EQ(turn.enter(kNever, {}), Entry::granted);
}

TEST(LocalQueueTest, PatienceEnds) {
  ThreadRuntime runtime;
  LocalQueue turn(runtime, 10);
  ASSERT_TRUE(turn.try_enter());
  EXPECT_EQ(turn.enter(runtime.now(), {}), Entry::timed_out);
  EXPECT_EQ(turn.enter(runtime.now() + 5ms, {}), Entry::timed_out);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(turn.enter(kNever, stop.get_token()), Entry::stopped);
  turn.pass();
  EXPECT_TRUE(turn.try_enter());
}

// Waiters that give up at the moment they are given the turn must not lose it.
TEST(LocalQueueTest, NoTurnIsLostAmongQuitters) {
  ThreadRuntime runtime;
  LocalQueue turn(runtime, 100);
  std::atomic<int> inside = 0;
  {
    std::list<Task> tasks;
    for (int i = 0; i < 4; ++i) {
      tasks.push_back(runtime.spawn("client", [&] {
        for (int round = 0; round < 500; ++round) {
          const auto wait = std::chrono::microseconds(runtime.random_between(0, 50));
          if (turn.enter(runtime.now() + wait, {}) != Entry::granted) continue;
          EXPECT_EQ(++inside, 1);
          runtime.yield();
          --inside;
          turn.pass();
        }
      }));
    }
  }
  EXPECT_TRUE(turn.try_enter());
}

}  // namespace
}  // namespace holdfast
