// The check `balance` on histories of a few events.
#include <gtest/gtest.h>

#include <string>

#include "checker/checks/check.h"
#include "checker/history/history_jsonl.h"

namespace holdfast::checker {
namespace {

std::string line(const std::string& process, const std::string& type, const std::string& f,
                 const std::string& key, const std::string& value, int time) {
  return "{\"time\":" + std::to_string(time) + "000000,\"process\":\"" + process + "\",\"type\":\"" + type +
         "\",\"f\":\"" + f + "\",\"key\":\"" + key + "\"" + (value.empty() ? "" : ",\"value\":" + value) +
         "}\n";
}

std::string audit(int a, int b, int time) {
  return line("audit", "invoke", "read", "a", "", time) +
         line("audit", "ok", "read", "a", std::to_string(a), time) +
         line("audit", "invoke", "read", "b", "", time) +
         line("audit", "ok", "read", "b", std::to_string(b), time);
}

// Moves 10 from a to b, as `process` sees it: it read and writes these.
std::string transfer(const std::string& process, int a, int b, int time, const std::string& end = "ok") {
  std::string text;
  for (const char* const step : {"debit", "credit"}) {
    text += line(process, "invoke", step, step[0] == 'd' ? "a" : "b", "10", time);
  }
  text += line(process, "ok", "write", "a", std::to_string(a), time + 1);
  if (end == "dies") return text;
  text += line(process, "ok", "write", "b", std::to_string(b), time + 2);
  for (const char* const step : {"debit", "credit"}) {
    text += line(process, end, step, step[0] == 'd' ? "a" : "b", "10", time + 3);
  }
  return text;
}

Verdict judge(const std::string& jsonl) { return find_check("balance")->run(from_jsonl(jsonl), {}); }

TEST(Balance, HoldsWhenEveryAmountIsRight) {
  const Verdict verdict = judge(audit(100, 100, 0) + transfer("c1/0", 90, 110, 10) +
                                transfer("c2/0", 80, 120, 20) + audit(80, 120, 30));
  EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict.reason;
}

TEST(Balance, FindsWhatIsLostAndWho) {
  const std::string both = line("c1/0", "ok", "read", "a", "100", 5) +
                           line("c2/0", "ok", "read", "a", "100", 6) + transfer("c1/0", 90, 110, 10) +
                           transfer("c2/0", 90, 110, 20);
  const Verdict vanished = judge(audit(100, 100, 0) + both + audit(90, 110, 30));
  ASSERT_EQ(vanished.outcome, Outcome::violated);
  EXPECT_EQ(vanished.witnesses.front().kind, "lost-transfer")
      << "the sum is right, and one transfer is not there";
  EXPECT_NE(vanished.reason.find("c2/0 read 100 at 6.000 ms, c1/0 wrote 90 at 11.000 ms, and c2/0 wrote 90"),
            std::string::npos)
      << vanished.reason;
  const Verdict made = judge(audit(100, 100, 0) + both + audit(90, 120, 30));
  ASSERT_EQ(made.outcome, Outcome::violated);
  EXPECT_EQ(made.witnesses.front().kind, "sum-changed");
  EXPECT_EQ(made.reason.find("10 was made of nothing: a 90 (should be 80), b 120 (should be 120)."), 0U)
      << made.reason;
}

TEST(Balance, FindsAnOverdraft) {
  const Verdict verdict = judge(audit(0, 100, 0) + transfer("c1/0", -10, 110, 10) + audit(-10, 110, 30));
  ASSERT_EQ(verdict.outcome, Outcome::violated);
  EXPECT_EQ(verdict.witnesses.front().kind, "overdrawn");
}

TEST(Balance, WhoDiesHalfWayMayBeWhy) {
  const std::string half = audit(100, 100, 0) + transfer("c1/0", 90, 110, 10, "dies");
  EXPECT_EQ(judge(half + transfer("c2/0", 80, 110, 20) + audit(80, 110, 30)).outcome, Outcome::unknown);
  EXPECT_EQ(judge(half + transfer("c2/0", 80, 110, 20) + audit(70, 110, 30)).outcome, Outcome::violated);
  // One that failed has done nothing.
  EXPECT_EQ(judge(audit(100, 100, 0) + transfer("c1/0", 90, 110, 10, "fail") + transfer("c2/0", 90, 110, 20) +
                  audit(90, 110, 30))
                .outcome,
            Outcome::holds);
}

TEST(Balance, LacksAnAuditOrTransfers) {
  EXPECT_EQ(judge("").outcome, Outcome::unknown);
  EXPECT_EQ(judge(audit(1, 1, 0) + audit(1, 1, 1)).outcome, Outcome::unknown);
  EXPECT_EQ(judge(transfer("c1/0", 90, 110, 10)).outcome, Outcome::unknown);
}

// An event without a value is nothing to count, and no reason to fall over.
TEST(Balance, AnEventWithoutAValue) {
  EXPECT_EQ(judge(line("audit", "ok", "read", "a", "", 1)).outcome, Outcome::unknown);
  EXPECT_EQ(judge(audit(1, 1, 0) + line("c1/0", "invoke", "debit", "a", "", 5) +
                  line("c1/0", "ok", "debit", "a", "", 6) + audit(1, 1, 9))
                .outcome,
            Outcome::holds);
}

}  // namespace
}  // namespace holdfast::checker
