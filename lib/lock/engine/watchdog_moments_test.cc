// What the holder may do at the moments between two steps of the watchdog, in virtual time.
#include <gtest/gtest.h>

#include <optional>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/hooked_clock.h"
#include "lib/testing/peer.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::HookedClock;
using testing::Where;
using Kind = LockEvent::Kind;

// Several holds are found lost at once, and are told one after the other. None of them can be entered again
// meanwhile, also where its lease would go on.
TEST(WatchdogMoments, WhatIsLostIsLostBeforeItIsTold) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const bool expired : {false, true}) {
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
      testing::Peer<ReentrantLocks> peer(fixture, {.lease = 3s, .renew = !expired});
      const auto first = peer.locks.obtain("1"), second = peer.locks.obtain("2"),
                 third = peer.locks.obtain("3");
      for (const auto& lock : {first, second, third}) lock->lock();
      // The end of the first is told for so long that those of the others come meanwhile.
      peer.observer.on_kind(Kind::lost, [&] { fixture.runtime.sleep_for(100ms); });
      if (!expired) peer.ask({"DEL", "1", "2", "3"});
      peer.observer.wait_for(Kind::lost, 2);
      ASSERT_EQ(peer.observer.count(Kind::lost), 2u);
      EXPECT_EQ(third->remaining_lease() > Duration::zero(), !expired);
      EXPECT_THROW(third->lock(), LockLost);
      EXPECT_FALSE(third->is_held_by_me());
      EXPECT_EQ(third->hold_count(), 1);
      EXPECT_EQ(peer.observer.count(Kind::lost), 2u);
      peer.observer.wait_for(Kind::lost, 3);
      EXPECT_THROW(third->release(), LockLost);
      EXPECT_EQ(peer.observer.count(Kind::lost), 3u);
    });
  }
}

// The watchdog stands still after it has picked what it will renew. The holder finds its lease over
// meanwhile, while the record still stands.
TEST(WatchdogMoments, WhatWasLostSinceItWasDueIsNotRenewed) {
  HF_NEEDS_VIRTUAL_TIME();
  testing::with_fixture(Where::embedded, [](Fixture& fixture) {
    HookedClock runtime(fixture.runtime);
    MonotonicTime due = kNever, end = kNever;
    int reads = 0;
    runtime.on_read_by("watchdog", [&] {  // first it looks what is due, then it asks for it
      if (fixture.runtime.now() >= due && ++reads == 2) fixture.runtime.sleep_until(end + 50ms);
    });
    redis::Client client(runtime, fixture.network, fixture.options());
    redis::Client straight(fixture.runtime, fixture.network, fixture.options());
    ReentrantLocks locks(client, {.lease = 10s});
    const auto lock = locks.obtain("k");
    lock->lock();
    end = lock->valid_until().value();
    due = fixture.runtime.now() + 3s;
    fixture.runtime.sleep_until(end + 10ms);
    ASSERT_EQ(reads, 2);
    EXPECT_EQ(testing::ask(straight, {"EXISTS", "k"}).integer, 1);
    EXPECT_THROW(lock->release(), LockLost);
    ASSERT_LT(fixture.runtime.now(), end + 50ms);
    fixture.runtime.sleep_until(end + 1s);
    EXPECT_GT(reads, 2);
    EXPECT_EQ(testing::ask(straight, {"EXISTS", "k"}).integer, 0);
  });
}

}  // namespace
}  // namespace holdfast
