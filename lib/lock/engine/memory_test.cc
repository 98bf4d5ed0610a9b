// What the locks do when there is no memory for a moment, and what they keep for how long.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/hooked_clock.h"
#include "lib/testing/peer.h"

namespace {

constexpr int kNone = -1;
thread_local int before_failure = kNone;  // how many allocations of this thread go well before one that fails
std::atomic<std::int64_t> blocks = 0;     // that are allocated now

void give_back(void* block) {
  if (block != nullptr) --blocks;
  std::free(block);
}

}  // namespace

// In place of the library's, in the whole test program.
void* operator new(std::size_t bytes) {
  if (before_failure != kNone && before_failure-- == 0) throw std::bad_alloc();
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  ++blocks;
  return block;
}
void operator delete(void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::HookedClock;
using testing::Where;

// Takes "k" with an allocation that fails, the `nth` after the clock was read for the `at`-th time. Whether
// it was granted all the same; `reads`: how often the clock was read.
bool granted_without_memory(Fixture& fixture, int at, int nth, int& reads) {
  HookedClock runtime(fixture.runtime);
  redis::Client client(runtime, fixture.network, fixture.options());
  ReentrantLocks locks(client, {.lease = 300ms});
  const auto lock = locks.obtain("k"), warm = locks.obtain("warm");
  warm->lock();  // so that it is connected
  warm->unlock();
  bool granted = false;
  runtime.on_read([&] {
    if (++reads == at) before_failure = nth;
  });
  try {
    lock->lock();
    granted = true;
  } catch (const std::bad_alloc&) {
  } catch (const Unavailable&) {  // no memory for the watchdog's task
  }
  before_failure = kNone;
  runtime.on_read(nullptr);
  EXPECT_EQ(lock->hold_count(), granted ? 1 : 0);
  Task other = fixture.runtime.spawn("client", [&] {
    EXPECT_EQ(lock->try_lock_for(100ms), !granted) << "allocation " << nth;
    if (lock->is_held_by_me()) {
      fixture.runtime.sleep_for(1s);
      EXPECT_TRUE(lock->is_held_by_me()) << "it is renewed";
      lock->release();
    }
  });
  other.join();
  if (granted) lock->release();
  EXPECT_EQ(client.call({"EXISTS", "k"}).reply.integer, 0);
  return granted;
}

// Memory fails after the grant, while the hold is put where it belongs. Neither the next task of the process
// nor the record on the server waits for a hold that nobody has, and the watchdog knows nothing of it.
TEST(Memory, AGrantForWhichThereIsNoMemoryIsGivenBack) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    int all = 0, failures = 0;
    ASSERT_TRUE(granted_without_memory(fixture, 0, 0, all));
    for (int nth = 0, reads = 0;; ++nth, reads = 0) {  // the clock is read last when it is granted
      if (granted_without_memory(fixture, all, nth, reads)) break;
      ++failures;
    }
    EXPECT_GE(failures, 3);  // of the lock, of the watchdog, of its task
  });
}

// Each of many tasks ends without giving back what it holds.
TEST(Memory, AMultiLockForgetsTasksThatEndedWithoutARelease) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    ReentrantLocks locks(client, {.lease = 100ms});
    MultiLock multi({locks.obtain("x"), locks.obtain("y")});
    const auto end_with_it = [&](int tasks) {
      for (int i = 0; i < tasks; ++i) {
        Task task = fixture.runtime.spawn("client", [&] { multi.lock(); });
        task.join();
        fixture.runtime.sleep_for(200ms);
      }
      return blocks.load();
    };
    const std::int64_t before = end_with_it(200);
    EXPECT_LT(end_with_it(400) - before, 400);
  });
}

}  // namespace
}  // namespace holdfast
