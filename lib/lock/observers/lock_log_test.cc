#include "lib/lock/observers/lock_log.h"

#include <gtest/gtest.h>

#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/lock/observers/observers.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/testing/fixture.h"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::Fixture;
using testing::Where;
using Kind = LockEvent::Kind;
using Severity = LockLog::Severity;

// Keeps lines, from any task.
class Kept {
 public:
  explicit Kept(Runtime& runtime) : mutex_(runtime) {}
  LockLog::Sink sink() {
    return [this](Severity severity, std::string_view line) {
      const std::scoped_lock guard(mutex_);
      severities.push_back(severity);
      lines.emplace_back(line);
    };
  }
  std::vector<Severity> severities;
  std::vector<std::string> lines;

 private:
  Mutex mutex_;
};

bool has(const std::string& line, const std::string& part) { return line.find(part) != std::string::npos; }

class LockLogOn : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Fixture&)>& body) { testing::with_fixture(GetParam(), body); }
};
INSTANTIATE_TEST_SUITE_P(Ports, LockLogOn, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

TEST_P(LockLogOn, TellsTheLifeOfALock) {
  run([](Fixture& fixture) {
    Kept kept(fixture.runtime);
    LockLog log(fixture.runtime, kept.sink(), {.kind = "fenced", .least = Severity::debug});
    EXPECT_FALSE(log.is_quick());
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    {
      FencedLocks locks(client, {.lease = 60s, .observer = &log});
      const auto lock = locks.obtain("stock 42");
      lock->lock();
      const std::string acquisition = lock->acquisition();
      fixture.runtime.sleep_for(20ms);
      lock->release();
      ASSERT_EQ(kept.lines.size(), 2u);
      const std::regex acquired(
          R"(ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z severity=DEBUG event=holdfast\.lock\.acquired )"
          R"re(lock\.kind=fenced lock\.key="stock 42" lock\.acquisition=\S+ server\.address=r1 )re"
          R"(lock\.token=\d+ duration=\d+\.\d{3})");
      EXPECT_TRUE(std::regex_match(kept.lines[0], acquired)) << kept.lines[0];
      EXPECT_TRUE(has(kept.lines[0], "lock.acquisition=" + acquisition)) << kept.lines[0];
      EXPECT_TRUE(has(kept.lines[1], "event=holdfast.lock.released")) << kept.lines[1];
      if (fixture.where == Where::embedded) {
        EXPECT_TRUE(has(kept.lines[1], " duration=0.02")) << kept.lines[1];
      }
    }
  });
}

TEST_P(LockLogOn, UnlessAskedItTellsOnlyOfWhatWentWrong) {
  run([](Fixture& fixture) {
    Kept kept(fixture.runtime);
    LockLog log(fixture.runtime, kept.sink());
    redis::Client client(fixture.runtime, fixture.network, fixture.options());
    ReentrantLocks locks(client, {.lease = 60s, .observer = &log});
    const auto lock = locks.obtain("k");
    lock->lock();
    lock->release();
    EXPECT_TRUE(kept.lines.empty());
    lock->lock();
    client.call({"DEL", "k"});
    EXPECT_THROW(lock->release(), LockLost);
    ASSERT_EQ(kept.lines.size(), 1u);
    EXPECT_EQ(kept.severities[0], Severity::error);
    EXPECT_TRUE(has(kept.lines[0], "severity=ERROR event=holdfast.lock.lost lock.key=k")) << kept.lines[0];
    EXPECT_TRUE(has(kept.lines[0], "error.message=\"the server no longer held it")) << kept.lines[0];
  });
}

// --- events made by hand ---------------------------------------------------------------------------------

class LockLogAlone : public ::testing::TestWithParam<Where> {
 protected:
  static void run(const std::function<void(Runtime&)>& body) {
    testing::on_ports(GetParam(), [&](Runtime& runtime, Network&) { body(runtime); });
  }
};
INSTANTIATE_TEST_SUITE_P(Ports, LockLogAlone, ::testing::ValuesIn(testing::everywhere()),
                         [](const auto& info) { return testing::to_string(info.param); });

void tell(LockLog& log, Kind kind, int times = 1) {
  for (int i = 0; i < times; ++i) log.on_event({.kind = kind, .key = "k", .reason = "why"});
}

TEST_P(LockLogAlone, EachKindHasItsOwnLimitAndSaysWhatWasLeftOut) {
  run([](Runtime& runtime) {
    Kept kept(runtime);
    LockLog log(runtime, kept.sink(), {.most_lines = 3, .period = 1h});
    tell(log, Kind::renew_failed, 100);
    EXPECT_EQ(kept.lines.size(), 3u);
    EXPECT_EQ(log.left_out(), 97u);
    tell(log, Kind::lost);
    ASSERT_EQ(kept.lines.size(), 4u);
    EXPECT_FALSE(has(kept.lines[3], "left_out")) << kept.lines[3];
    log.flush();
    EXPECT_EQ(kept.lines.size(), 4u) << "not even that is more than was promised";
    EXPECT_EQ(log.left_out(), 97u);
  });
}

TEST_P(LockLogAlone, WhatWasLeftOutIsToldWhenALineIsAllowedAgain) {
  run([](Runtime& runtime) {
    Kept kept(runtime);
    LockLog log(runtime, kept.sink(), {.most_lines = 2, .period = 20ms});
    tell(log, Kind::renew_failed, 2);
    const MonotonicTime from = runtime.now();
    while (log.left_out() == 0) tell(log, Kind::renew_failed);  // on a slow machine some more are allowed
    runtime.sleep_until(from + 1s);
    std::uint64_t left_out = log.left_out();
    tell(log, Kind::renew_failed);
    EXPECT_TRUE(kept.lines.back().ends_with(" left_out=" + std::to_string(left_out))) << kept.lines.back();
    while (log.left_out() == 0) tell(log, Kind::renew_failed);
    left_out = log.left_out();
    runtime.sleep_for(1s);
    log.flush();
    EXPECT_TRUE(has(kept.lines.back(),
                    "severity=WARN event=holdfast.lock.renew_failed left_out=" + std::to_string(left_out)))
        << kept.lines.back();
    EXPECT_EQ(log.left_out(), 0u);
    const std::size_t lines = kept.lines.size();
    log.flush();
    EXPECT_EQ(kept.lines.size(), lines);
  });
}

// Whenever the events come: no period has more lines than were promised.
TEST_P(LockLogAlone, NoPeriodHasMoreLinesThanWerePromised) {
  run([](Runtime& runtime) {
    constexpr std::size_t kMost = 4;
    constexpr Duration kPeriod = 10ms;
    std::vector<MonotonicTime> written;
    LockLog log(runtime, [&](Severity, std::string_view) { written.push_back(runtime.now()); },
                {.most_lines = kMost, .period = kPeriod});
    const MonotonicTime begun = runtime.now();
    for (int i = 1; runtime.now() < begun + 20 * kPeriod; ++i) {
      tell(log, Kind::lost, i % 7);
      runtime.sleep_for(std::chrono::microseconds(100 * (i % 50)));
    }
    ASSERT_GT(written.size(), 2 * kMost);
    const auto periods = static_cast<std::size_t>((runtime.now() - begun) / kPeriod + 1);
    EXPECT_LE(written.size(), kMost * periods);
    if (GetParam() != Where::embedded) return;  // elsewhere a line may come long after it was allowed
    for (std::size_t i = 0; i + kMost < written.size(); ++i) {
      EXPECT_GE(written[i + kMost] - written[i], kPeriod) << i;
    }
  });
}

TEST_P(LockLogAlone, ALineIsOneLineHoweverWildTheKey) {
  run([](Runtime& runtime) {
    Kept kept(runtime);
    LockLog log(runtime, kept.sink(), {.kind = "x", .quick = true});
    EXPECT_TRUE(log.is_quick());
    const std::string longer(60000, '"');
    log.on_event(
        {.kind = Kind::lost, .key = "a\nb=\"c\\\xff", .node = longer, .reason = longer, .permits = 3});
    ASSERT_EQ(kept.lines.size(), 1u);
    EXPECT_TRUE(has(kept.lines[0], R"(lock.key="a\\x0ab=\"c\\\\xff")")) << kept.lines[0];
    EXPECT_TRUE(has(kept.lines[0], "lock.permits=3"));
    EXPECT_EQ(kept.lines[0].find('\n'), std::string::npos);
    EXPECT_LE(kept.lines[0].size(), 8192u);
  });
}

TEST_P(LockLogAlone, ASinkThatThrowsDisturbsNobody) {
  run([](Runtime& runtime) {
    int calls = 0;
    LockLog log(runtime, [&](Severity, std::string_view) {
      ++calls;
      throw std::runtime_error("disk full");
    });
    tell(log, Kind::lost, 2);
    EXPECT_EQ(calls, 2);
    EXPECT_THROW(LockLog(runtime, nullptr), std::invalid_argument);
    EXPECT_THROW(LockLog(runtime, [](Severity, std::string_view) {}, {.most_lines = 0}),
                 std::invalid_argument);
    EXPECT_THROW(LockLog(runtime, [](Severity, std::string_view) {}, {.period = 0s}), std::invalid_argument);
  });
}

// --- several observers -----------------------------------------------------------------------------------

class Letters final : public LockObserver {
 public:
  Letters(std::string& into, char letter, bool quick) : into_(into), letter_(letter), quick_(quick) {}
  bool is_quick() const noexcept override { return quick_; }
  void on_event(const LockEvent&) noexcept override { into_ += letter_; }

 private:
  std::string& into_;
  const char letter_;
  const bool quick_;
};

TEST(Observers, TellAllInOrderAndAreAsQuickAsTheSlowest) {
  std::string told;
  Letters a(told, 'a', true), b(told, 'b', true), slow(told, 's', false);
  Observers quick({&a, nullptr, &b}), mixed({&a, &slow, &b});
  EXPECT_TRUE(quick.is_quick());
  EXPECT_FALSE(mixed.is_quick());
  quick.on_event({});
  mixed.on_event({});
  EXPECT_EQ(told, "abasb");
}

}  // namespace
}  // namespace holdfast
