// The header of a run: what is written is read back, and what is wrong in it is told with its place.
#include "checker/checks/questions.h"

#include <gtest/gtest.h>

#include "checker/history/format_error.h"

namespace holdfast::checker {
namespace {

Questions some() {
  Questions questions;
  questions.title = "storm/\"fair\", seed 7";
  CheckContext& context = questions.context;
  context.model = "leased-semaphore";
  context.reentrant = true;
  context.permits = 3;
  context.initial_stock = 100;
  context.final_stock = -2;
  context.lease_ns = 700'000'000;
  context.progress_bound_ns = 5'000'000'000;
  context.end_ns = 12;
  context.run_ended_by_itself = false;
  context.clocks_within_bounds = false;
  context.promised_overtakes = 4;
  context.told_slack_ns = 25;
  questions.asked = {
      {.check = "lease-exclusion", .expected = Outcome::violated, .kind = "double-grant", .seeds = ">= 20%"},
      {.check = "reached", .expected = Outcome::holds, .marks = {"sold-out", "lock.lost"}},
      {.check = "oversell"}};
  return questions;
}

TEST(Questions, AreReadBackAsTheyWere) {
  const std::string header = to_header(some());
  EXPECT_EQ(header.find('\n'), std::string::npos);
  const Questions read = parse_questions(header, "h.jsonl");
  EXPECT_EQ(to_header(read), header);
  EXPECT_EQ(read.title, some().title);
  EXPECT_EQ(read.context.model, "leased-semaphore");
  EXPECT_TRUE(read.context.reentrant);
  EXPECT_EQ(read.context.permits, 3);
  EXPECT_EQ(read.context.initial_stock, 100);
  EXPECT_EQ(read.context.final_stock, -2);
  EXPECT_EQ(read.context.lease_ns, 700'000'000);
  EXPECT_EQ(read.context.progress_bound_ns, 5'000'000'000);
  EXPECT_EQ(read.context.end_ns, 12);
  EXPECT_FALSE(read.context.run_ended_by_itself);
  EXPECT_FALSE(read.context.clocks_within_bounds);
  EXPECT_EQ(read.context.promised_overtakes, 4);
  EXPECT_EQ(read.context.told_slack_ns, 25);
  ASSERT_EQ(read.asked.size(), 3u);
  EXPECT_EQ(read.asked[0].wanted(), "violated (double-grant) on >= 20% of the seeds");
  EXPECT_EQ(read.asked[1].marks, (std::vector<std::string>{"sold-out", "lock.lost"}));
  EXPECT_EQ(read.asked[2].wanted(), "");
}

TEST(Questions, WhatIsLeftOutIsAsWithoutAHeader) {
  const Questions read = parse_questions("{}", "e.json");
  EXPECT_EQ(read.context.initial_stock, std::nullopt);
  EXPECT_TRUE(read.context.run_ended_by_itself);
  EXPECT_TRUE(read.context.clocks_within_bounds);
  EXPECT_TRUE(read.asked.empty());
}

std::string refused(const std::string& text) {
  try {
    parse_questions(text, "e.json", 4, 3);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "taken";
}

TEST(Questions, WhatIsWrongIsToldWithItsPlace) {
  const auto begins = [](const std::string& text, const std::string& problem) {
    EXPECT_EQ(refused(text).substr(0, problem.size()), problem);
  };
  begins("{\"lease\":1}",
         "e.json:4:4: `lease`: a member that is not known here, expected holdfast-run, title");
  begins("{\n  \"permits\": \"3\"\n}", "e.json:5:3: `permits`: found `\"3\"`, expected a whole number");
  begins("{\"permits\":-1}", "e.json:4:4: `permits`: found `-1`, expected a whole number from 0");
  begins("{\"end_ns\":18446744073709551615}", "e.json:4:4: `end_ns`: found `18446744073709551615`");
  begins("{\"reentrant\":1}", "e.json:4:4: `reentrant`: found `1`, expected true or false");
  begins("{\"holdfast-run\":2}", "e.json:4:4: `holdfast-run`: found `2`, expected 1; another version");
  begins("{\"model\":\"mutexx\"}", "e.json:4:4: `model`: found `\"mutexx\"`, expected the name of a model");
  begins("{\"questions\":[1]}", "e.json:4:4: `questions`: found `[1]`, expected a list of objects");
  begins("[]", "e.json:4:3: found no object of JSON");
  begins("{\n  oops}", "e.json:5:3: this is no JSON");
  const std::string first = "{\"questions\":[{\"check\":\"oversell\"},\n {\"check\":";
  begins(first + "\"oversel\"}]}", "e.json:5:3: `check`: found `\"oversel\"`, expected the name of a check");
  begins(first + "\"oversell\",\"expect\":\"maybe\"}]}", "e.json:5:22: `expect`: found `\"maybe\"`");
  begins(
      first + "\"oversell\",\"kind\":\"overrun\"}]}",
      "e.json:5:22: `kind`: found `\"overrun\"`, expected a kind of violation that oversell finds: oversold");
  begins(first + "\"oversell\",\"mark\":[]}]}",
         "e.json:5:22: `mark`: a member that is not known here, expected check, expect, kind, seeds, marks");
}

TEST(Questions, AnAnswerIsMetMissedOrUnknown) {
  using Answer = Question::Answer;
  Verdict holds, violated;
  holds.outcome = Outcome::holds;
  violated.outcome = Outcome::violated;
  violated.witnesses.emplace_back().kind = "overrun";
  Question question{.check = "lease-exclusion", .expected = Outcome::violated};
  EXPECT_EQ(question.answered_by(holds), Answer::missed);
  EXPECT_EQ(question.answered_by(violated), Answer::met);
  EXPECT_EQ(question.answered_by(Verdict{}), Answer::unknown);
  question.kind = "double-grant";
  EXPECT_EQ(question.answered_by(violated), Answer::missed);
  question.seeds = ">= 20%";
  EXPECT_EQ(question.answered_by(holds), Answer::met) << "one run says nothing against a share";
  question.expected.reset();
  EXPECT_EQ(question.answered_by(violated), Answer::met);
}

}  // namespace
}  // namespace holdfast::checker
