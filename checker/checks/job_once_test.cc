// The check `job-once` on histories of a few events.
#include <gtest/gtest.h>

#include <string>

#include "checker/checks/check.h"
#include "checker/history/history_jsonl.h"

namespace holdfast::checker {
namespace {

std::string line(const std::string& process, const std::string& type, const std::string& f, int value,
                 int time) {
  return "{\"time\":" + std::to_string(time) + "000000,\"process\":\"" + process + "\",\"type\":\"" + type +
         "\",\"f\":\"" + f + "\",\"key\":\"report\",\"value\":" + std::to_string(value) + "}\n";
}
std::string job(const std::string& process, int period, int time, const std::string& end = "ok") {
  const std::string begun = line(process, "invoke", "job", period, time);
  return end.empty() ? begun : begun + line(process, end, "job", period, time + 1);
}
std::string due(int periods, int time) { return line("schedule", "ok", "due", periods, time); }

Verdict judge(const std::string& jsonl) { return find_check("job-once")->run(from_jsonl(jsonl), {}); }

TEST(JobOnce, HoldsWhenEveryPeriodHasOneRun) {
  const Verdict verdict = judge(job("c1/0", 1, 10) + job("c2/0", 2, 20) + job("c1/0", 3, 30) + due(3, 40));
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict.reason;
  EXPECT_EQ(verdict.reason, "3 periods, each with one run of its job");
  // One that was refused has not run.
  EXPECT_EQ(judge(job("c1/0", 1, 10) + job("c2/0", 1, 12, "fail") + due(1, 40)).outcome, Outcome::holds);
}

TEST(JobOnce, FindsASecondRun) {
  const std::string text = job("c1/0", 1, 0) + job("c1/0", 2, 20) + job("c2/0", 2, 25) + due(2, 40);
  const Verdict verdict = judge(text);
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.violations, 1u);
  EXPECT_EQ(verdict.witnesses.front().kind, "twice");
  EXPECT_EQ(verdict.witnesses.front().events, (std::vector<std::size_t>{2, 3, 4, 5}));
  EXPECT_EQ(verdict.reason, "The job of period 2 ran twice: by c1/0 at 20.000 ms, and by c2/0 at 25.000 ms.");
  const Verdict again =
      find_check("job-once")->run(from_jsonl(text).subset(verdict.witnesses.front().events), {});
  EXPECT_EQ(again.outcome, Outcome::violated);
  EXPECT_EQ(again.witnesses.front().kind, "twice");
}

TEST(JobOnce, FindsAPeriodWithoutOne) {
  const std::string text = job("c1/0", 1, 10) + job("c1/0", 3, 30) + due(3, 40);
  const Verdict verdict = judge(text);
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.witnesses.front().kind, "skipped");
  EXPECT_EQ(verdict.reason, "Period 2 of 3 went by and nobody ran its job report.");
  EXPECT_EQ(find_check("job-once")
                ->run(from_jsonl(text).subset(verdict.witnesses.front().events), {})
                .witnesses.front()
                .kind,
            "skipped");
  EXPECT_EQ(judge(due(2, 40)).violations, 2u) << "nobody ever ran it";
}

TEST(JobOnce, WhatMayHaveRunIsNeitherMissingNorASecondRun) {
  for (const char* const end : {"", "info"}) {
    EXPECT_EQ(judge(job("c1/0", 1, 10, end) + due(1, 40)).outcome, Outcome::unknown);
    EXPECT_EQ(judge(job("c1/0", 1, 10, end) + job("c2/0", 1, 20) + due(1, 40)).outcome, Outcome::holds);
  }
}

TEST(JobOnce, LacksASchedule) {
  EXPECT_EQ(judge("").outcome, Outcome::unknown);
  EXPECT_EQ(judge(job("c1/0", 1, 10)).outcome, Outcome::unknown);
  EXPECT_EQ(judge(due(0, 10)).outcome, Outcome::unknown);
}

}  // namespace
}  // namespace holdfast::checker
