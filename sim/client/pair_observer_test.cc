#include "sim/client/pair_observer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "lib/runtime/thread_runtime.h"

namespace holdfast::sim {
namespace {

using Kind = LockEvent::Kind;

MonotonicTime at(int ms) { return MonotonicTime(std::chrono::milliseconds(ms)); }
int ms(MonotonicTime time) {
  return static_cast<int>(time.time_since_epoch() / std::chrono::milliseconds(1));
}

std::string_view word(Kind kind) {
  switch (kind) {
    case Kind::acquired: return "acquired";
    case Kind::renewing: return "renewing";
    case Kind::renewed: return "renewed";
    case Kind::extended: return "extended";
    case Kind::renew_failed: return "renew_failed";
    case Kind::lost: return "lost";
    case Kind::released: return "released";
    case Kind::release_failed: return "release_failed";
    case Kind::waiting: return "waiting";
    case Kind::queued: return "queued";
    case Kind::refused: return "refused";
    case Kind::acquire_failed: return "acquire_failed";
  }
  return "?";
}

// Writes down what it is told: "renewed key first-hold@r1 <until>".
class Notes final : public LockObserver {
 public:
  std::vector<std::string> lines;
  void on_event(const LockEvent& event) noexcept override {
    lines.push_back(fmt::format("{} {} {}@{}{}{}", word(event.kind), event.key, event.acquisition, event.node,
                                event.valid_until ? fmt::format(" {}", ms(*event.valid_until)) : "",
                                event.reason.empty() ? "" : fmt::format(" ({})", event.reason)));
  }
};

using Lines = std::vector<std::string>;

class PairObserverTest : public testing::Test {
 protected:
  // What a member tells: "a" is acquired as "a<hold>" on r1, "b" as "b<hold>" on r2.
  void tell(Kind kind, char member, int hold, int until = -1, std::string_view reason = {}) {
    const std::string key = std::string("k:") + member, id = member + std::to_string(hold);
    LockEvent event{.kind = kind, .key = key, .acquisition = id, .node = member == 'a' ? "r1" : "r2"};
    if (until >= 0) event.valid_until = at(until);
    if (kind == Kind::acquired || kind == Kind::renewed) event.sent_at = at(until - 30);
    event.reason = reason;
    observer.on_event(event);
  }
  void both_acquired(int until = 30) {
    tell(Kind::acquired, 'a', 1, until);
    tell(Kind::acquired, 'b', 1, until);
    notes.lines.clear();
  }

  Notes notes;
  ThreadRuntime runtime;
  PairObserver observer{&notes, "k", runtime};
};

TEST_F(PairObserverTest, IsAcquiredWhenBothAreInWhateverOrder) {
  tell(Kind::acquired, 'b', 1, 30);
  EXPECT_EQ(notes.lines, Lines{});
  tell(Kind::acquired, 'a', 1, 40);
  EXPECT_EQ(notes.lines, Lines{"acquired k a1@r1 30"});
}

// While the other is waited for, its lease is renewed; and it may be given back, or lost.
TEST_F(PairObserverTest, OneMemberAloneIsNoHold) {
  tell(Kind::acquired, 'a', 1, 30);
  tell(Kind::renewing, 'a', 1);
  tell(Kind::renewed, 'a', 1, 40);
  tell(Kind::released, 'a', 1);
  tell(Kind::acquired, 'b', 1, 60);
  tell(Kind::lost, 'b', 1, -1, "expired");
  tell(Kind::acquired, 'a', 2, 70);
  EXPECT_EQ(notes.lines, Lines{});
}

TEST_F(PairObserverTest, MembersOfTwoTasksAreNoHold) {
  tell(Kind::acquired, 'a', 1, 30);
  std::jthread other([&] { tell(Kind::acquired, 'b', 1, 30); });
  other.join();
  EXPECT_EQ(notes.lines, Lines{});
}

TEST_F(PairObserverTest, RenewalsTogetherAreOne) {
  both_acquired();
  tell(Kind::renewing, 'a', 1);
  tell(Kind::renewing, 'b', 1);
  tell(Kind::renewed, 'a', 1, 40);
  EXPECT_EQ(notes.lines, Lines{"renewing k a1@r1"});
  tell(Kind::renewed, 'b', 1, 41);
  EXPECT_EQ(notes.lines, (Lines{"renewing k a1@r1", "renewed k a1@r1 40"}));
}

TEST_F(PairObserverTest, OneFailureIsTheirs) {
  for (const bool first_fails : {true, false}) {
    SCOPED_TRACE(first_fails);
    both_acquired();
    tell(Kind::renewing, 'a', 1);
    tell(Kind::renewing, 'b', 1);
    tell(first_fails ? Kind::renew_failed : Kind::renewed, 'a', 1, first_fails ? 30 : 40, "no answer");
    tell(first_fails ? Kind::renewed : Kind::renew_failed, 'b', 1, first_fails ? 40 : 30, "no answer");
    EXPECT_EQ(notes.lines.back(),
              first_fails ? "renew_failed k a1@r1 30 (no answer)" : "renew_failed k a1@r2 30 (no answer)");
  }
}

// Both members have leases of their own, that began when each was granted: the renewal of the one that ends
// first makes the hold longer, whatever becomes of the other's.
TEST_F(PairObserverTest, ALongerPromiseIsToldAtOnce) {
  tell(Kind::acquired, 'a', 1, 30);
  tell(Kind::acquired, 'b', 1, 45);
  tell(Kind::renewing, 'a', 1);
  tell(Kind::renewing, 'b', 1);
  tell(Kind::renewed, 'a', 1, 60);
  EXPECT_EQ(notes.lines,
            (Lines{"acquired k a1@r1 30", "renewing k a1@r1", "renewed k a1@r1 45", "renewing k a1@r2"}));
  tell(Kind::renew_failed, 'b', 1, 45, "no answer");
  EXPECT_EQ(notes.lines.back(), "renew_failed k a1@r2 45 (no answer)");
}

// There is always one of them under way.
TEST_F(PairObserverTest, RenewalsThatTakeTurnsAreToldToo) {
  both_acquired();
  tell(Kind::renewing, 'a', 1);
  tell(Kind::renewing, 'b', 1);
  for (int until = 40; until < 100; until += 10) {
    notes.lines.clear();
    tell(Kind::renewed, 'a', 1, until);
    tell(Kind::renewing, 'a', 1);
    tell(Kind::renewed, 'b', 1, until);
    tell(Kind::renewing, 'b', 1);
    ASSERT_EQ(notes.lines, (Lines{fmt::format("renewed k a1@r1 {}", until), "renewing k a1@r1"}));
  }
}

// Begun while it waited for the other member, answered when it had both.
TEST_F(PairObserverTest, ARenewalFromBeforeTheHoldCounts) {
  tell(Kind::acquired, 'a', 1, 30);
  tell(Kind::renewing, 'a', 1);
  tell(Kind::acquired, 'b', 1, 50);
  tell(Kind::renewed, 'a', 1, 45);
  EXPECT_EQ(notes.lines, (Lines{"acquired k a1@r1 30", "renewing k a1@r1", "renewed k a1@r1 45"}));
}

TEST_F(PairObserverTest, TheLossOfOneIsTheLossOfAll) {
  both_acquired();
  tell(Kind::lost, 'b', 1, -1, "expired");
  tell(Kind::lost, 'a', 1, -1, "expired");
  tell(Kind::renewing, 'a', 1);
  EXPECT_EQ(notes.lines, Lines{"lost k a1@r2 (expired)"});
}

// The task of a renewal may come late.
TEST_F(PairObserverTest, AnswersForAHoldThatIsOverAreNotForTheNext) {
  both_acquired();
  tell(Kind::renewing, 'a', 1);
  tell(Kind::released, 'b', 1);
  tell(Kind::released, 'a', 1);
  tell(Kind::acquired, 'a', 2, 50);
  tell(Kind::acquired, 'b', 2, 50);
  notes.lines.clear();
  tell(Kind::renewed, 'a', 1, 90);
  tell(Kind::lost, 'a', 1);
  EXPECT_EQ(notes.lines, Lines{});
  tell(Kind::renewing, 'a', 2);
  tell(Kind::renewed, 'a', 2, 80);
  EXPECT_EQ(notes.lines, (Lines{"renewing k a2@r1", "renewed k a2@r1 50"}));
}

TEST_F(PairObserverTest, WaitsAreToldUnderTheKeyOfBoth) {
  observer.on_event({.kind = Kind::waiting, .key = "k:b", .node = "r2"});
  EXPECT_EQ(notes.lines, Lines{"waiting k @r2"});
}

}  // namespace
}  // namespace holdfast::sim
