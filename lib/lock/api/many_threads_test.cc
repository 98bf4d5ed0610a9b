// Fifty threads on one lock, and on fifty locks, of every exclusive kind, on real Redis: what the thread
// sanitizer is run on. The counters are plain: only the lock keeps the threads apart.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <list>

#include "lib/lock/api/async_lock.h"
#include "lib/testing/kinds.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::AnyPeer;
using testing::ExclusiveKind;
using testing::Fixture;
using testing::Where;

constexpr std::size_t kThreads = 50;

class ManyThreads : public ::testing::TestWithParam<ExclusiveKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, ManyThreads, ::testing::ValuesIn(testing::every_kind()),
                         [](const auto& info) { return testing::to_string(info.param); });

// False as well when not even the first answer came in time: a busy machine.
bool granted_within(Lock& lock, Duration patience) {
  try {
    return lock.try_lock_for(patience);
  } catch (const Unavailable&) {
    return false;
  }
}

// Threads of one process: its own mutexes order what they do, so the counter may be plain.
TEST_P(ManyThreads, OnOneLock) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    AnyPeer peer(fixture, GetParam(), {.lease = 60s, .fencing = true});
    int counter = 0;
    {
      std::list<Task> threads;
      for (std::size_t i = 0; i < kThreads; ++i) {
        threads.push_back(fixture.runtime.spawn("client", [&, i] {
          const auto lock = peer.obtain("k");
          for (int round = 0; round < 3; ++round) {
            if (i % 5 == 0) {
              while (!granted_within(*lock, 100ms)) continue;
            } else {
              lock->lock();
            }
            ++counter;
            EXPECT_TRUE(lock->is_held_by_me());
            EXPECT_TRUE(lock->token().has_value());
            EXPECT_FALSE(lock->lost().stop_requested());
            lock->unlock();
          }
        }));
      }
    }
    EXPECT_EQ(counter, static_cast<int>(3 * kThreads));
    EXPECT_FALSE(peer.obtain("k")->in_use());
    EXPECT_EQ(peer.ask({"EXISTS", "k"}).integer, 0);
  });
}

// Two processes: only Redis is between them.
TEST_P(ManyThreads, OnOneLockOfTwoProcesses) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    AnyPeer a(fixture, GetParam(), {.lease = 60s}), b(fixture, GetParam(), {.lease = 60s});
    std::atomic<int> inside = 0, rounds = 0;
    {
      std::list<Task> threads;
      for (std::size_t i = 0; i < kThreads; ++i) {
        AnyPeer& peer = i % 2 == 0 ? a : b;
        threads.push_back(fixture.runtime.spawn("client", [&] {
          const auto lock = peer.obtain("k");
          lock->lock();
          EXPECT_EQ(++inside, 1);
          ++rounds;
          --inside;
          lock->unlock();
        }));
      }
    }
    EXPECT_EQ(rounds, static_cast<int>(kThreads));
  });
}

// Renewals, observers, owners and asynchronous acquires meet.
TEST_P(ManyThreads, OnFiftyLocks) {
  testing::with_fixture(Where::threads, [](Fixture& fixture) {
    AnyPeer peer(fixture, GetParam(), {.lease = 3s});
    std::array<int, kThreads> counters{};
    {
      std::list<Task> threads;
      for (std::size_t i = 0; i < kThreads; ++i) {
        threads.push_back(fixture.runtime.spawn("client", [&, i] {
          for (std::size_t round = 0; round < 4; ++round) {
            const std::size_t number = (i + round * 7) % kThreads;
            const auto lock = peer.obtain("k" + std::to_string(number));
            if (i % 10 == 0) {
              const Owner owner(fixture.runtime);
              EXPECT_TRUE(acquire_async(lock, owner).wait());
              const ActAs me(fixture.runtime, owner);
              ++counters[number];
              lock->unlock();
            } else {
              lock->lock();
              ++counters[number];
              lock->unlock();
            }
          }
        }));
      }
    }
    int sum = 0;
    for (const int counter : counters) sum += counter;
    EXPECT_EQ(sum, static_cast<int>(4 * kThreads));
  });
}

}  // namespace
}  // namespace holdfast
