// The reentrant lock in a process that is paused: as a whole, or its watchdog alone.
#include <gtest/gtest.h>

#include <memory>
#include <mutex>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/fixture.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::RecordingObserver;
using testing::Where;
using Kind = LockEvent::Kind;

class ReentrantPause : public ::testing::TestWithParam<Where> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReentrantPause);  // without the harness
INSTANTIATE_TEST_SUITE_P(Worlds, ReentrantPause, ::testing::ValuesIn(testing::worlds()),
                         [](const auto& info) { return testing::to_string(info.param); });

constexpr Duration kLease = 400ms;

// A client process that holds the lock of "k" until it is told to look.
class Holder {
 public:
  explicit Holder(Fixture& fixture)
      : harness_(fixture.runtime), process(fixture.add_process("c1")), observer(process.runtime()) {
    Parker& parker = harness_.parker();
    process.start("client", [this, &fixture, &parker] {
      hold_until_told(fixture, parker);
      ended_ = true;
      parker.unpark();
    });
    while (!held_) parker.park_until(kNever);
  }
  void hold_until_told(Fixture& fixture, Parker& parker) {
    redis::Client client(process.runtime(), process.network(), fixture.options());
    ReentrantLocks locks(client, {.lease = kLease, .observer = &observer});
    const auto lock = locks.obtain("k");
    lock->lock();
    valid_until = *lock->valid_until();
    self_ = &process.runtime().parker();
    held_ = true;
    parker.unpark();
    while (!look_) self_->park_until(kNever);
    is_held = lock->is_held_by_me();
    try {
      lock->release();
    } catch (const LockLost&) {
      lost_at_unlock = true;
    }
    looked_ = true;
    parker.unpark();
  }
  void look() {
    look_ = true;
    self_->unpark();
  }
  void wait_looked() {
    while (!looked_) harness_.parker().park_until(kNever);
  }
  void wait_ended() {
    while (!ended_) harness_.parker().park_until(kNever);
  }

 private:
  Runtime& harness_;

 public:
  testing::OtherProcess& process;
  RecordingObserver observer;
  MonotonicTime valid_until{};
  bool is_held = false, lost_at_unlock = false;

 private:
  Parker* self_ = nullptr;
  bool held_ = false, look_ = false, looked_ = false, ended_ = false;
};

// Asks for the lock of "k" on the harness.
bool somebody_else_gets_it(Fixture& fixture) {
  redis::Client client(fixture.runtime, fixture.network, fixture.options());
  ReentrantLocks locks(client, {});
  const auto lock = locks.obtain("k");
  if (!lock->try_lock()) return false;
  lock->unlock();
  return true;
}

TEST_P(ReentrantPause, TheWholeProcessPastItsLease) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    Holder holder(fixture);
    holder.process.pause();
    fixture.runtime.sleep_for(kLease + 20ms);
    EXPECT_TRUE(somebody_else_gets_it(fixture));
    EXPECT_EQ(holder.observer.count(Kind::lost), 0u);
    holder.process.resume();
    holder.look();
    holder.wait_ended();
    EXPECT_FALSE(holder.is_held);
    EXPECT_TRUE(holder.lost_at_unlock);
    EXPECT_EQ(holder.observer.count(Kind::lost), 1u);
    EXPECT_EQ(holder.observer.count(Kind::renewed), 0u);
  });
}

// Paused with a renewal on its way: the server extends, but its answer is read when the lease is over. It
// must not revive the hold.
TEST_P(ReentrantPause, ARenewalThatIsReadTooLate) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    Holder holder(fixture);
    // From the moment of the request on: nothing of the process runs until the old lease is over.
    holder.observer.on_kind(Kind::renewing, [&] { holder.process.pause(); });
    while (!holder.process.paused()) fixture.runtime.sleep_for(1ms);
    holder.process.resume();  // the request goes out, the process stops again before it can read
    fixture.runtime.sleep_for(Duration(0));
    holder.process.pause();
    fixture.runtime.sleep_for(kLease + 20ms);
    holder.observer.on_kind(Kind::renewing, nullptr);
    holder.process.resume();
    holder.observer.wait_from_outside(Kind::lost, fixture.runtime);
    EXPECT_EQ(holder.observer.count(Kind::renewed), 0u);
    holder.look();
    holder.wait_ended();
    EXPECT_TRUE(holder.lost_at_unlock);
  });
}

// The answer to a renewal is read in time, but the watchdog sleeps and sees it when the lease is over.
TEST_P(ReentrantPause, ARenewalThatTheWatchdogSeesTooLate) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    Holder holder(fixture);
    int sent = 0;
    holder.observer.on_kind(Kind::renewing, [&] {
      // From its next wait on: that for the answer, as the second one finds its connection and its script.
      if (++sent == 2) holder.process.pause_role("watchdog");
    });
    while (sent < 2) fixture.runtime.sleep_for(1ms);
    fixture.runtime.sleep_for(kLease * 3 / 4);
    if (fixture.where == Where::embedded) {
      EXPECT_FALSE(somebody_else_gets_it(fixture));  // the server has lengthened it
    }
    holder.observer.on_kind(Kind::renewing, nullptr);
    holder.process.resume_role("watchdog");
    while (holder.observer.count(Kind::lost) == 0 && holder.observer.count(Kind::renewed) < 2) {
      fixture.runtime.sleep_for(1ms);
    }
    EXPECT_EQ(holder.observer.count(Kind::renewed), 1u);
    holder.look();
    holder.wait_ended();
    EXPECT_FALSE(holder.is_held);
    EXPECT_TRUE(holder.lost_at_unlock);
  });
}

// Only the watchdog sleeps: nobody tells, but the holder's own clock still says that the lease is over.
TEST_P(ReentrantPause, TheWatchdogAlone) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    Holder holder(fixture);
    holder.process.pause_role("watchdog");
    fixture.runtime.sleep_for(kLease + 20ms);
    EXPECT_EQ(holder.observer.count(Kind::renewed), 0u);
    EXPECT_TRUE(somebody_else_gets_it(fixture));
    holder.look();
    holder.wait_looked();
    EXPECT_FALSE(holder.is_held);
    EXPECT_TRUE(holder.lost_at_unlock);
    EXPECT_EQ(holder.observer.count(Kind::lost), 1u);  // the unlock noticed and told
    holder.process.resume_role("watchdog");
    holder.wait_ended();
  });
}

TEST_P(ReentrantPause, AShortPauseIsSurvived) {
  testing::with_fixture(GetParam(), [](Fixture& fixture) {
    Holder holder(fixture);
    for (int round = 0; round < 4; ++round) {
      holder.process.pause();
      fixture.runtime.sleep_for(kLease / 2);
      holder.process.resume();
      fixture.runtime.sleep_for(kLease / 8);
    }
    EXPECT_FALSE(somebody_else_gets_it(fixture));
    holder.look();
    holder.wait_ended();
    EXPECT_TRUE(holder.is_held);
    EXPECT_FALSE(holder.lost_at_unlock);
  });
}

// The record outlasts what was promised by the margin. In that time the hold is over, though the server would
// still say yes; who comes before the watchdog has noticed is told the loss.
TEST(ReentrantPauseInVirtualTime, NothingCountsBetweenTheEndOfThePromiseAndThatOfTheRecord) {
  HF_NEEDS_VIRTUAL_TIME();
  for (const bool re_enters : {false, true}) {
    testing::with_fixture(Where::embedded, [&](Fixture& fixture) {
      testing::OtherProcess& process = fixture.add_process("c1");
      Parker& parker = fixture.runtime.parker();
      bool ended = false;
      process.start("client", [&] {
        Runtime& runtime = process.runtime();
        RecordingObserver observer(runtime);
        {
          redis::Client client(runtime, process.network(), fixture.options());
          ReentrantLocks locks(client, {.lease = 60s, .observer = &observer});
          const auto lock = locks.obtain("k");
          lock->lock();
          process.pause_role("watchdog");
          runtime.sleep_until(*lock->valid_until() + 100ms);
          EXPECT_EQ(client.call({"GET", "k"}).reply.text, lock->acquisition());
          EXPECT_FALSE(lock->is_held_by_me());
          if (re_enters) {
            EXPECT_THROW(lock->lock(), LockLost);
            EXPECT_EQ(observer.count(Kind::lost), 1u);
          }
          EXPECT_THROW(lock->release(), LockLost);
          EXPECT_EQ(observer.count(Kind::lost), 1u);
          EXPECT_EQ(observer.count(Kind::released), 0u);
          process.resume_role("watchdog");
        }
        ended = true;
        parker.unpark();
      });
      while (!ended) parker.park_until(kNever);
    });
  }
}

}  // namespace
}  // namespace holdfast
