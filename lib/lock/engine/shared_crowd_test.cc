// Fifty threads on one read-write lock, one semaphore and one pair of multi locks, of two processes, on a
// real Redis: what the thread sanitizer looks at.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/testing/fixture.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;

constexpr int kThreads = 50, kRounds = 4;

// Runs `act` of one of two clients kRounds times on each of kThreads tasks, and looks that nothing is left.
void crowd(const std::function<std::function<void(Fixture&, int)>(redis::Client&)>& make) {
  testing::with_fixture(testing::Where::threads, [&](Fixture& fixture) {
    redis::Client one(fixture.runtime, fixture.network, fixture.options());
    redis::Client two(fixture.runtime, fixture.network, fixture.options());
    {
      const auto first = make(one), second = make(two);
      std::list<Task> tasks;
      for (int i = 0; i < kThreads; ++i) {
        tasks.push_back(fixture.runtime.spawn("client", [&, i] {
          for (int round = 0; round < kRounds; ++round) (i % 2 == 0 ? first : second)(fixture, i + round);
        }));
      }
      tasks.clear();  // joins
    }
    EXPECT_EQ(one.call({"DBSIZE"}).reply.integer, 0);
  });
}

TEST(SharedCrowd, ReadWriteLock) {
  for (const bool fair : {false, true}) {
    std::atomic<int> readers = 0, writers = 0, wrong = 0;
    crowd([&](redis::Client& client) {
      const auto locks =
          std::make_shared<ReadWriteLocks>(client, ReadWriteOptions{.lock = {.lease = 60s}, .fair = fair});
      return [&, locks, lock = locks->obtain("k")](Fixture& fixture, int number) {
        if (number % 5 == 0) {
          const std::unique_lock guard(*lock);
          if (++writers != 1 || readers != 0) ++wrong;
          fixture.runtime.yield();
          --writers;
        } else {
          const std::shared_lock guard(*lock);
          ++readers;
          if (writers != 0) ++wrong;
          fixture.runtime.yield();
          --readers;
        }
      };
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(SharedCrowd, Semaphore) {
  std::atomic<int> used = 0, wrong = 0;
  crowd([&](redis::Client& client) {
    const auto locks =
        std::make_shared<Semaphores>(client, SemaphoreOptions{.lock = {.lease = 60s}, .permits = 7});
    return [&, locks, semaphore = locks->obtain("k")](Fixture& fixture, int number) {
      const int permits = 1 + number % 3;
      semaphore->acquire(permits);
      if ((used += permits) > 7) ++wrong;
      fixture.runtime.yield();
      used -= permits;
      semaphore->release();
    };
  });
  EXPECT_EQ(wrong, 0);
}

TEST(SharedCrowd, MultiLock) {
  std::atomic<int> inside = 0, wrong = 0;
  crowd([&](redis::Client& client) {
    const auto locks = std::make_shared<ReentrantLocks>(client, LockOptions{.lease = 60s});
    const auto x = locks->obtain("x"), y = locks->obtain("y");
    const auto multi = std::make_shared<MultiLock>(std::vector<std::shared_ptr<Lock>>{x, y});
    return [&, locks, multi](Fixture& fixture, int) {
      const std::unique_lock guard(*multi);
      if (++inside != 1) ++wrong;
      fixture.runtime.yield();
      --inside;
    };
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace holdfast
