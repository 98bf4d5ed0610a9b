// What a run recorded of itself: `check` asks the same of its history, and says the same of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "checker/history/history_jsonl.h"
#include "sim/scenario/run.h"
#include "tools/holdfast/check_judge.h"
#include "tools/holdfast/testing/run_check.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using checker::Outcome;
using testing::check;
using testing::expect_all;

class CheckHeader : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  TemporaryFolder folder_;
};

// Every case of every scenario file here that this world can run, with one seed.
TEST_F(CheckHeader, RunAndCheckAgreeOnEveryScenario) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(holdfast::testing::source_path("scenarios"))) {
    const std::string folder = entry.path().parent_path().filename();
    if (folder == "external" || folder == "comparators") continue;  // of the real world
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::size_t runs = 0, violated = 0;
  for (const std::string& each : files) {
    for (const sim::Scenario& scenario : sim::read_scenarios(each)) {
      const sim::RunResult run = sim::run_once(scenario, {.seed = 3, .keep_history = true});
      SCOPED_TRACE(run.questions.title);
      const std::string history =
          file("h.jsonl", to_header(run.questions) + "\n" + checker::to_jsonl(run.history));
      const Checked checked = check_history(history, {});
      ASSERT_EQ(checked.error, "");
      ASSERT_GE(checked.lines.size(), run.verdicts.size());
      for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
        EXPECT_EQ(checked.lines[i].name, scenario.expectations[i].check);
        EXPECT_EQ(checked.lines[i].outcome, run.verdicts[i].outcome) << checked.lines[i].reason;
        EXPECT_EQ(checked.lines[i].violations, run.verdicts[i].violations);
        EXPECT_EQ(checked.lines[i].reason, run.verdicts[i].reason);
        violated += run.verdicts[i].outcome == Outcome::violated ? 1 : 0;
      }
      ++runs;
    }
  }
  EXPECT_GT(runs, 700u);
  EXPECT_GT(violated, 200u);
}

constexpr const char* kHeader =
    R"({"holdfast-run":1,"title":"t, seed 1","initial_stock":1,"final_stock":0,"questions":[)"
    R"({"check":"oversell","expect":"violated","kind":"oversold"}]})";

std::string sales(int units) {
  std::string text;
  for (int i = 0; i < units; ++i) {
    for (const char* type : {"invoke", "ok"}) {
      text +=
          "{\"process\":" + std::to_string(i) + ",\"type\":\"" + type + "\",\"f\":\"sell\",\"key\":\"k\"}\n";
    }
  }
  return text;
}

// C14: the run says oversold; so does its file, and it cannot vouch for itself.
TEST_F(CheckHeader, AFileIsAskedWhatItsRunWasAsked) {
  const Ran bare = check(file("bare.jsonl", sales(2)));
  EXPECT_EQ(bare.out.find("oversell"), std::string::npos);
  const Ran ran = check(file("h.jsonl", kHeader + ("\n" + sales(2))));
  EXPECT_EQ(ran.exit, 1);
  expect_all(ran, {": violated\n    · asked what the run asked: t, seed 1\n    ✗ oversell: index 3: sell of "
                   "process 1 (as "
                   "expected)"});
  EXPECT_EQ(check(file("h.jsonl", kHeader + ("\n" + sales(1)))).exit, 0);
  EXPECT_EQ(check("--init 5 " + file("h.jsonl", kHeader + ("\n" + sales(2)))).exit, 0)
      << "the user knows best";
  EXPECT_EQ(check("--check lost-update " + file("h.jsonl", kHeader + ("\n" + sales(2)))).exit, 1);
}

TEST_F(CheckHeader, ExpectTakesTheQuestionsFromElsewhere) {
  const std::string two = file("two.jsonl", sales(2)), one = file("one.jsonl", sales(1));
  for (const std::string& questions :
       {file("e.json", std::string("{\n \"initial_stock\": 1,\n \"questions\": [{\"check\": "
                                   "\"oversell\", \"expect\": \"violated\"}]}\n")),
        file("e.jsonl", kHeader + ("\n" + sales(1))), file("w.jsonl", kHeader + ("\r\n" + sales(1)))}) {
    const Ran met = check("--expect " + questions + " " + two);
    EXPECT_EQ(met.exit, 0) << met.out;
    expect_all(met, {"✓ " + two + ": violated, as expected\n    ✗ oversell: "});
    const Ran missed = check("--expect " + questions + " " + one);
    EXPECT_EQ(missed.exit, 1) << missed.out;
    expect_all(missed, {"✗ " + one + ": holds, not as expected\n    ✓ oversell: ", " (expected: violated"});
    expect_all(check("--expect " + questions + " " + one + " " + two),
               {"✗ " + one + ": holds, not as expected: oversell: ",
                "✓ " + two + ": violated, as expected: oversell: "});
  }
  const Ran unknown =
      check("--expect " + file("p.json", R"({"questions":[{"check":"progress"}]})") + " " + two);
  EXPECT_EQ(unknown.exit, 2);
  expect_all(unknown, {"nobody says how long is too long: `progress_ns`"});
  EXPECT_EQ(check("--expect " + path("none.json") + " " + two).exit, 64);
  expect_all(check("--expect " + path("none.json") + " " + two), {"none.json: this file cannot be opened"});
  const Ran typo = check("--expect " + file("t.json", "{\n \"lease\": 1}") + " " + two);
  EXPECT_EQ(typo.exit, 64);
  expect_all(typo, {"t.json:2:2: `lease`: a member that is not known here"});
}

// What only some seeds reach says nothing against the lock.
TEST_F(CheckHeader, AMarkThatSomeSeedsReach) {
  const auto asks = [&](const std::string& more) {
    return check(file("h.jsonl", R"({"holdfast-run":1,"questions":[{"check":"reached","expect":"holds",)" +
                                     more +
                                     R"("marks":["sold-out"]}]})"
                                     "\n"
                                     R"({"process":1,"type":"invoke","f":"acquire"}
{"process":1,"type":"ok","f":"acquire"}
)"));
  };
  EXPECT_EQ(asks("").exit, 1);
  EXPECT_EQ(asks(R"("seeds":">= 20%",)").exit, 0);
  expect_all(asks(R"("seeds":">= 20%",)"), {"· reached: The mark `sold-out` was never reached"});
}

TEST_F(CheckHeader, AHeaderStandsOnceAndFirst) {
  const std::string event = sales(1);
  const Ran late = check(file("h.jsonl", event + kHeader + "\n"));
  EXPECT_EQ(late.exit, 64);
  expect_all(late, {"h.jsonl:3:1: found the header of a run, expected it on the first line only"});
  EXPECT_EQ(check(file("h.jsonl", std::string(kHeader) + "\n" + kHeader + "\n" + event)).exit, 64);
  const Ran broken = check(file("h.jsonl", R"({"holdfast-run":1,"leese_ns":5})"
                                           "\n" +
                                               event));
  EXPECT_EQ(broken.exit, 64);
  expect_all(broken, {"h.jsonl:1:19: `leese_ns`: a member that is not known here"});
  const Ran sorted = check(file("h.jsonl", R"({"final_stock":0,"holdfast-run":1,"permits":0})"
                                           "\n" +
                                               event));
  EXPECT_NE(sorted.exit, 64) << "members in any order\n" << sorted.out;
}

}  // namespace
}  // namespace holdfast::tools
