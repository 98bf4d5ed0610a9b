// The check `latch`: awaits that return too early or never, and histories that it passes.
#include <gtest/gtest.h>

#include "checker/checks/check.h"
#include "checker/history/history_jsonl.h"

namespace holdfast::checker {
namespace {

Event make(History& history, std::int64_t time_ms, std::string_view process, EventType type, Function f,
           std::optional<std::int64_t> value = {}) {
  Event event;
  event.time_ns = time_ms * 1'000'000;
  event.process = history.intern(process);
  event.type = type;
  event.f = f;
  event.key = history.intern("latch");
  if (value) event.value = Value(*value);
  history.append(event);
  return event;
}

constexpr auto kInvoke = EventType::invoke;
constexpr auto kOk = EventType::ok;

struct Told {
  History history;
  Told& set(std::int64_t at, std::int64_t count) {
    make(history, at, "c1/0", kInvoke, Function::resize, count);
    make(history, at, "c1/0", kOk, Function::resize, count);
    return *this;
  }
  Told& counts(std::int64_t from, std::int64_t to, std::string_view process) {
    make(history, from, process, kInvoke, Function::count_down);
    if (to >= from) make(history, to, process, kOk, Function::count_down);
    return *this;
  }
  Told& waits(std::int64_t at, std::string_view process) {
    make(history, at, process, kInvoke, Function::await);
    return *this;
  }
  Told& opens(std::int64_t at, std::string_view process) {
    make(history, at, process, kOk, Function::await);
    return *this;
  }
  Verdict judge(std::int64_t end_ms = 1000, std::int64_t bound_ms = 100) const {
    CheckContext context;
    context.end_ns = end_ms * 1'000'000;
    context.progress_bound_ns = bound_ms * 1'000'000;
    return find_check("latch")->run(history, context);
  }
};

TEST(Latch, OpensWhenTheCountIsDown) {
  Told told;
  told.waits(0, "c4/0").set(1, 2).counts(2, 3, "c2/0").counts(4, 6, "c3/0").opens(7, "c4/0");
  EXPECT_EQ(told.judge().outcome, Outcome::holds) << told.judge().reason;
}

// The last count-down took effect, and its answer is still to come.
TEST(Latch, ACountDownUnderWayMayHaveOpenedIt) {
  Told told;
  told.waits(0, "c4/0").set(1, 2).counts(2, 3, "c2/0").counts(4, -1, "c3/0").opens(7, "c4/0");
  EXPECT_EQ(told.judge().outcome, Outcome::holds);
}

TEST(Latch, OpenedEarlyIsFound) {
  Told told;
  told.waits(0, "c4/0").set(1, 2).counts(2, 3, "c2/0").opens(5, "c4/0").counts(6, 7, "c3/0");
  const Verdict verdict = told.judge();
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.witnesses[0].kind, "opened-early");
  EXPECT_NE(verdict.reason.find("when 1 of 2 count-downs had been invoked"), std::string::npos)
      << verdict.reason;
  const Verdict again = find_check("latch")->run(told.history.subset(verdict.witnesses[0].events), {});
  EXPECT_EQ(again.outcome, Outcome::violated);
}

TEST(Latch, OpenedBeforeItWasSetIsFound) {
  Told told;
  told.waits(0, "c4/0").opens(1, "c4/0").set(2, 1);
  EXPECT_EQ(told.judge().outcome, Outcome::violated);
}

TEST(Latch, NeverOpenedIsFoundWhenThereWasTime) {
  Told told;
  told.set(1, 1).waits(2, "c4/0").counts(3, 4, "c2/0").waits(5, "c5/0").opens(6, "c5/0");
  const Verdict verdict = told.judge();
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.witnesses[0].kind, "never-opened");
  EXPECT_EQ(told.judge(100).outcome, Outcome::holds);  // it may still come
  make(told.history, 50, "c4", EventType::info, Function::crash);
  EXPECT_EQ(told.judge().outcome, Outcome::holds);  // a client that died does not wait
}

// Nobody says how long is too long: nobody has waited too long.
TEST(Latch, WithoutABoundNobodyWaitsTooLong) {
  Told told;
  told.set(1, 1).waits(2, "c4/0").counts(3, 4, "c2/0").waits(5, "c5/0").opens(6, "c5/0");
  EXPECT_EQ(told.judge(1000, 0).outcome, Outcome::holds);
}

TEST(Latch, SaysNothingWhereNobodyGotThrough) {
  EXPECT_EQ(Told().set(1, 1).judge().outcome, Outcome::unknown);
}

TEST(Latch, SurvivesTheFile) {
  Told told;
  told.waits(0, "c4/0").set(1, 2).counts(2, 3, "c2/0").opens(5, "c4/0");
  const History again = from_jsonl(to_jsonl(told.history));
  EXPECT_EQ(to_jsonl(again), to_jsonl(told.history));
  EXPECT_EQ(find_check("latch")->run(again, {}).outcome, Outcome::violated);
}

}  // namespace
}  // namespace holdfast::checker
