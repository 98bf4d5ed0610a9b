// Code of the application that the library calls in the background: it may take its time, and may destroy
// what called it.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/lock/api/async_lock.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/peer.h"
#include "lib/testing/scene.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Sign;
using testing::Where;
using Kind = LockEvent::Kind;

class Callbacks : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};
INSTANTIATE_TEST_SUITE_P(Ports, Callbacks, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(Callbacks, ASlowOneCostsNoOtherLockItsLease) {
  run([](Fixture& fixture) {
    testing::Peer<ReentrantLocks> peer(fixture, {.lease = fixture.lease(300ms)});
    const auto lost = peer.locks.obtain("lost"), kept = peer.locks.obtain("kept");
    lost->lock();
    kept->lock();
    Sign called(fixture.runtime), enough(fixture.runtime);
    const std::stop_callback slow(lost->lost(), [&] {
      called.give();
      enough.wait();
    });
    peer.ask({"DEL", "lost"});
    called.wait();
    const std::size_t renewed = peer.observer.count(Kind::renewed);
    while (peer.observer.count(Kind::renewed) < renewed + 6 && kept->is_held_by_me()) {  // two leases
      fixture.runtime.sleep_for(1ms);
    }
    const bool held = kept->is_held_by_me();
    enough.give();
    if (!held) throw testing::LostWhileWaiting();
    kept->unlock();
  });
}

// Blocks in the first renewal of which it is told.
class SlowObserver final : public LockObserver {
 public:
  explicit SlowObserver(Runtime& runtime) : called(runtime), enough(runtime) {}
  void on_event(const LockEvent& event) noexcept override {
    if (event.kind == Kind::renewing) order += 'i';
    if (event.kind == Kind::renewed) order += 'd';
    if (event.kind != Kind::renewed || blocked) return;
    blocked = true;
    called.give();
    enough.wait();
  }
  Sign called, enough;
  bool blocked = false;
  std::string order;  // told by one task at a time
};

TEST_P(Callbacks, ASlowObserverCostsNoLockItsLeaseAndIsToldInOrder) {
  run([](Fixture& fixture) {
    const Duration lease = fixture.lease(300ms);
    SlowObserver observer(fixture.runtime);
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    {
      ReentrantLocks locks(client, {.lease = lease, .observer = &observer});
      const auto lock = locks.obtain("k");
      lock->lock();
      observer.called.wait();
      const MonotonicTime end = *lock->valid_until() + lease;
      while (lock->is_held_by_me() && *lock->valid_until() < end) fixture.runtime.sleep_for(1ms);
      const bool held = lock->is_held_by_me();
      observer.enough.give();
      if (!held) throw testing::LostWhileWaiting();
    }
    EXPECT_EQ(observer.order.substr(0, 4), "idid") << observer.order;  // and all was told before the end
  });
}

TEST_P(Callbacks, TheLastLockMayGoInItsOwnCallback) {
  run([](Fixture& fixture) {
    struct All {
      explicit All(Fixture& fixture)
          : client(fixture.runtime, fixture.network, fixture.options()), locks(client, {.lease = 150ms}) {}
      redis::Client client;
      ReentrantLocks locks;
      std::shared_ptr<Lock> lock = locks.obtain("k");
    };
    auto all = std::make_unique<All>(fixture);
    redis::Client other(fixture.runtime, fixture.network, fixture.options());
    all->lock->lock();
    Sign gone(fixture.runtime);
    const std::stop_token lost = all->lock->lost();
    const std::stop_callback drop(lost, [&] {
      all.reset();  // lock, locks and client
      gone.give();
    });
    other.call({"DEL", "k"});
    gone.wait();
  });
}

// A call of the holder finds the loss. Its callbacks take long, and ask for the lock.
TEST_P(Callbacks, OneMayWaitForTheLockThatACallFoundLost) {
  run([](Fixture& fixture) {
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    RecordingObserver observer(fixture.runtime);
    ReadWriteLocks locks(client, {.lock = {.lease = 60s, .observer = &observer}});
    const auto lock = locks.obtain("k");
    const std::function<void()> calls[] = {[&] { lock->release(); }, [&] { lock->extend(100s); },
                                           [&] { lock->downgrade(); }};
    for (const auto& call : calls) {
      lock->lock();
      Sign returned(fixture.runtime), again(fixture.runtime);
      const std::stop_callback leads(lock->lost(), [&] {
        returned.wait();
        lock->lock();
        lock->release();
        again.give();
      });
      testing::ask(client, {"DEL", "k"});
      EXPECT_THROW(call(), LockLost);
      returned.give();
      again.wait();
      if (lock->hold_count() > 0) lock->unlock();  // after extend()
    }
    EXPECT_EQ(observer.count(Kind::lost), 3u);
  });
}

TEST_P(Callbacks, TheLastLockMayGoInTheCallbackOfItsRelease) {
  run([](Fixture& fixture) {
    testing::Peer<ReentrantLocks> peer(fixture, {.lease = 60s});
    auto lock = peer.locks.obtain("k");
    lock->lock();
    Sign released(fixture.runtime), gone(fixture.runtime);
    const std::stop_token lost = lock->lost();
    const std::stop_callback drop(lost, [&] {
      released.wait();
      lock.reset();
      gone.give();
    });
    peer.ask({"DEL", "k"});
    EXPECT_THROW(lock->release(), LockLost);
    released.give();
    gone.wait();
  });
}

// The watchdog sleeps: the holder finds the end of its lease, when it enters again or releases.
TEST(CallbacksInVirtualTime, OneMayWaitForTheLockWhoseEndTheHolderFound) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const bool enters_again : {false, true}) {
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
      testing::OtherProcess& process = fixture.add_process("c1");
      Parker& parker = fixture.runtime.parker();
      bool ended = false;
      process.start("client", [&] {
        Runtime& runtime = process.runtime();
        {
          redis::Client client(runtime, process.network(), fixture.options());
          ReentrantLocks locks(client, {.lease = 1s});
          const auto lock = locks.obtain("k");
          lock->lock();
          Sign returned(runtime), again(runtime);
          const std::stop_callback leads(lock->lost(), [&] {
            returned.wait();
            lock->lock();
            lock->release();
            again.give();
          });
          process.pause_role("watchdog");
          runtime.sleep_for(1100ms);
          EXPECT_THROW(enters_again ? lock->lock() : lock->release(), LockLost);
          returned.give();
          again.wait();
          if (enters_again) lock->unlock();
          process.resume_role("watchdog");
        }
        ended = true;
        parker.unpark();
      });
      while (!ended) parker.park_until(kNever);
    });
  }
}

TEST_P(Callbacks, APendingAcquireMayGoInItsOwnThen) {
  run([](Fixture& fixture) {
    testing::Peer<ReentrantLocks> peer(fixture, {.lease = 60s});
    const auto lock = peer.locks.obtain("k");
    const Owner owner(fixture.runtime);
    Sign kept(fixture.runtime), gone(fixture.runtime);
    std::optional<PendingLock> pending;
    pending = acquire_async(lock, owner, kNever, {}, [&](bool granted, const std::exception_ptr&) {
      EXPECT_TRUE(granted);
      kept.wait();
      pending.reset();
      gone.give();
    });
    kept.give();
    gone.wait();
    const ActAs me(fixture.runtime, owner);
    EXPECT_TRUE(lock->is_held_by_me());
    lock->unlock();
  });
}

}  // namespace
}  // namespace holdfast
