// The reentrant lock in a process that is paused: as a whole, or its watchdog alone.
#include <gtest/gtest.h>

#include <memory>
#include <mutex>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/stand.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Stand;
using testing::Where;
using testing::Witness;
using Kind = LockEvent::Kind;

class ReentrantPause : public ::testing::TestWithParam<Where> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ReentrantPause);  // without the harness
INSTANTIATE_TEST_SUITE_P(Worlds, ReentrantPause, ::testing::ValuesIn(testing::worlds()),
                         [](const auto& info) { return testing::to_string(info.param); });

constexpr Duration kLease = 400ms;

// A client process that holds the lock of "k" until it is told to look.
class Holder {
 public:
  explicit Holder(Stand& stand)
      : harness_(stand.runtime), process(stand.add_process("c1")), witness(process.runtime()) {
    Parker& parker = harness_.parker();
    process.start("client", [this, &stand, &parker] {
      hold_until_told(stand, parker);
      ended_ = true;
      parker.unpark();
    });
    while (!held_) parker.park_until(kNever);
  }
  void hold_until_told(Stand& stand, Parker& parker) {
    redis::Client client(process.runtime(), process.network(), stand.options());
    ReentrantLocks locks(client, {.lease = kLease, .observer = &witness});
    const auto lock = locks.obtain("k");
    lock->lock();
    valid_until = *lock->valid_until();
    self_ = &process.runtime().parker();
    held_ = true;
    parker.unpark();
    while (!look_) self_->park_until(kNever);
    is_held = lock->is_held_by_me();
    try {
      lock->unlock();
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
  Witness witness;
  MonotonicTime valid_until{};
  bool is_held = false, lost_at_unlock = false;

 private:
  Parker* self_ = nullptr;
  bool held_ = false, look_ = false, looked_ = false, ended_ = false;
};

// Asks for the lock of "k" on the harness.
bool somebody_else_gets_it(Stand& stand) {
  redis::Client client(stand.runtime, stand.network, stand.options());
  ReentrantLocks locks(client, {});
  const auto lock = locks.obtain("k");
  if (!lock->try_lock()) return false;
  lock->unlock();
  return true;
}

TEST_P(ReentrantPause, TheWholeProcessPastItsLease) {
  testing::on_stand(GetParam(), [](Stand& stand) {
    Holder holder(stand);
    holder.process.pause();
    stand.runtime.sleep_for(kLease + 20ms);
    EXPECT_TRUE(somebody_else_gets_it(stand));
    EXPECT_EQ(holder.witness.count(Kind::lost), 0u);
    holder.process.resume();
    holder.look();
    holder.wait_ended();
    EXPECT_FALSE(holder.is_held);
    EXPECT_TRUE(holder.lost_at_unlock);
    EXPECT_EQ(holder.witness.count(Kind::lost), 1u);
    EXPECT_EQ(holder.witness.count(Kind::renewed), 0u);
  });
}

// Paused with a renewal on its way: the server extends, but its answer is read when the lease is over. It
// must not revive the hold.
TEST_P(ReentrantPause, ARenewalThatIsReadTooLate) {
  testing::on_stand(GetParam(), [](Stand& stand) {
    Holder holder(stand);
    // From the moment of the request on: nothing of the process runs until the old lease is over.
    holder.witness.on_kind(Kind::renewing, [&] { holder.process.pause(); });
    while (!holder.process.paused()) stand.runtime.sleep_for(1ms);
    holder.process.resume();  // the request goes out, the process stops again before it can read
    stand.runtime.sleep_for(Duration(0));
    holder.process.pause();
    stand.runtime.sleep_for(kLease + 20ms);
    holder.witness.on_kind(Kind::renewing, nullptr);
    holder.process.resume();
    holder.witness.wait_from_outside(Kind::lost, stand.runtime);
    EXPECT_EQ(holder.witness.count(Kind::renewed), 0u);
    holder.look();
    holder.wait_ended();
    EXPECT_TRUE(holder.lost_at_unlock);
  });
}

// Only the watchdog sleeps: nobody tells, but the holder's own clock still says that the lease is over.
TEST_P(ReentrantPause, TheWatchdogAlone) {
  testing::on_stand(GetParam(), [](Stand& stand) {
    Holder holder(stand);
    holder.process.pause_role("watchdog");
    stand.runtime.sleep_for(kLease + 20ms);
    EXPECT_EQ(holder.witness.count(Kind::renewed), 0u);
    EXPECT_TRUE(somebody_else_gets_it(stand));
    holder.look();
    holder.wait_looked();
    EXPECT_FALSE(holder.is_held);
    EXPECT_TRUE(holder.lost_at_unlock);
    EXPECT_EQ(holder.witness.count(Kind::lost), 1u);  // the unlock noticed and told
    holder.process.resume_role("watchdog");
    holder.wait_ended();
  });
}

TEST_P(ReentrantPause, AShortPauseIsSurvived) {
  testing::on_stand(GetParam(), [](Stand& stand) {
    Holder holder(stand);
    for (int round = 0; round < 4; ++round) {
      holder.process.pause();
      stand.runtime.sleep_for(kLease / 2);
      holder.process.resume();
      stand.runtime.sleep_for(kLease / 8);
    }
    EXPECT_FALSE(somebody_else_gets_it(stand));
    holder.look();
    holder.wait_ended();
    EXPECT_TRUE(holder.is_held);
    EXPECT_FALSE(holder.lost_at_unlock);
  });
}

}  // namespace
}  // namespace holdfast
