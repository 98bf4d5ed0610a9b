// `holdfast run` as its users meet it: what it prints, writes and returns.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "lib/testing/server/missing.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/reports.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class RunFolder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // A shipped scenario with another text from its first [[expect]] on.
  std::string scenario(const std::string& name, const std::string& of, const std::string& expectations) {
    std::string text = read_text(kScenarios + of);
    write_file(path(name), text.substr(0, text.find("[[expect]]")) + expectations);
    return path(name);
  }
  // Grants again after a restart: lease-exclusion is violated on every seed, by a double grant.
  std::string broken(const std::string& name, const std::string& expectations) {
    return scenario(name, "restart_without_persistence.toml", expectations);
  }
  std::string sound(const std::string& name) {
    return scenario(name, "happy_path.toml", "[[expect]]\ncheck = \"lease-exclusion\"\n");
  }
  TemporaryFolder folder_;
};

const std::string kHolds = "[[expect]]\ncheck = \"lease-exclusion\"\n";
const std::string kViolated = kHolds + "is = \"violated\"\n";

TEST(Command, TellsTheStoryOfTheDoubleGrant) {
  const Ran ran = holdfast("run " + kScenarios + "primary_failover_double_grant.toml --seeds 1..4");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("DOUBLE GRANT")) << ran.out;
  EXPECT_TRUE(ran.says(", seed 1 (the violation is expected)")) << ran.out;
  EXPECT_TRUE(ran.says("4 of 4, as expected")) << ran.out;
  EXPECT_TRUE(ran.says("reproduce   " + kTool + " run " + kScenarios +
                       "primary_failover_double_grant.toml --variant base --seed 1\n"))
      << ran.out;
  EXPECT_TRUE(ran.says("oversold"));
  EXPECT_EQ(ran.last_line().rfind("trace ", 0), 0u) << ran.last_line();
  EXPECT_EQ(ran.last_line().size(), 22u);
  EXPECT_TRUE(
      std::regex_match(ran.last_line(1), std::regex("\\d+ cases, [0-9,]+ runs, 0 unexpected, \\d+\\.\\d s")))
      << ran.last_line(1);
}

TEST(Command, JobsDoNotMatterSeedsDo) {
  const std::string run = "run " + kScenarios + "happy_path.toml ";
  const std::string one = holdfast(run + "--seeds 1..12 --jobs 1").last_line();
  EXPECT_EQ(holdfast(run + "--seeds 1..12 --jobs 4").last_line(), one);
  EXPECT_NE(holdfast(run + "--seeds 2..13 --jobs 1").last_line(), one);
  const Ran checked = holdfast(run + "--seeds 1..3 --check-determinism");
  EXPECT_EQ(checked.exit, 0) << checked.out;
}

TEST(Command, TwoHistoriesOfOneSeedExitThree) {
  RunArguments arguments;
  arguments.files = {kScenarios + "happy_path.toml"};
  arguments.variant = "base";
  arguments.seeds = sim::parse_seeds("1..2");
  arguments.check_determinism = true;
  std::uint64_t runs = 0;
  arguments.run = [&](const sim::Scenario& scenario, const sim::RunOptions& options) {
    sim::RunResult result = sim::run_once(scenario, options);
    result.trace += ++runs;  // planted
    return result;
  };
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_command(arguments), kNotDeterministic);
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("seed 1 gave two different histories"), std::string::npos) << out;
  EXPECT_NE(out.find("--seed 1 --check-determinism\n"), std::string::npos) << out;
  arguments.run = sim::run_once;
  EXPECT_EQ(run_command(arguments), kMet);
}

// --- what is run

TEST_F(RunFolder, EveryFileBelowInAStableOrder) {
  for (const char* name : {"b.toml", "a/z.toml", "a/deep/er/y.toml", "c.toml"}) sound(name);
  write_file(path("a/notes.txt"), "no scenario");
  const Ran ran = holdfast("run " + folder_.path() + " --seed 1 --json " + path("run.json"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  std::vector<std::string> files;
  const auto json = nlohmann::json::parse(read_text(path("run.json")));
  for (const auto& item : json["cases"]) files.push_back(item["file"]);
  EXPECT_EQ(files, (std::vector<std::string>{path("a/deep/er/y.toml"), path("a/z.toml"), path("b.toml"),
                                             path("c.toml")}));
  EXPECT_EQ(ran.last_line(1).substr(0, 32), "4 cases, 4 runs, 0 unexpected, 0") << ran.last_line(1);
  // A file that is named beside its folder is run once.
  const Ran twice = holdfast("run " + path("c.toml") + " " + folder_.path() + " --seed 1");
  EXPECT_TRUE(twice.last_line(1).starts_with("4 cases, 4 runs")) << twice.last_line(1);
}

TEST(Command, ShippedScenariosAreFoundInEveryFolder) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kScenarios))
    files += entry.path().extension() == ".toml";
  RunArguments arguments;
  arguments.files = {kScenarios};
  const Plan plan = make_plan(arguments);
  std::set<std::string> seen;
  for (const auto& result : plan.cases) seen.insert(result->scenario.file);
  EXPECT_EQ(seen.size() + plan.not_run.size(), files);
  EXPECT_GT(files, 30u);
}

TEST_F(RunFolder, WhatThisMachineCannotRunIsListedOrRefused) {
  sound("a.toml");
  // A file that was named: 69. A folder in which nothing can be run: 69 too, for a green run of nothing is
  // none.
  for (const std::string& what : {path("a.toml"), folder_.path()}) {
    const Ran ran = holdfast("run " + what + " --world real --seed 1", "PATH=/nonexistent");
    EXPECT_EQ(ran.exit, 69) << ran.err;
    EXPECT_NE(ran.err.find("apt-get install redis-server"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(RunFolder, AFileThatCannotBeRunHereDoesNotStopTheOthers) {
  sound("a.toml");
  sound("b.toml");
  RunArguments arguments;
  arguments.files = {folder_.path()};
  arguments.seeds = sim::parse_seeds("1..3");
  arguments.junit = path("junit.xml");
  arguments.run = [&](const sim::Scenario& scenario, const sim::RunOptions& options) {
    if (scenario.file == path("b.toml")) throw Missing("no such lock in this build");
    return sim::run_once(scenario, options);
  };
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_command(arguments), kMet);
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("not run: " + path("b.toml") + ": no such lock in this build\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("1 case, 3 runs, 0 unexpected, 1 not run, "), std::string::npos) << out;
  EXPECT_NE(read_text(path("junit.xml")).find("<skipped message=\"not run: no such lock in this build\"/>"),
            std::string::npos);
  arguments.files = {path("a.toml"), path("b.toml")};
  EXPECT_THROW(run_command(arguments), Missing);  // named: exit 69
}

// --- the end of a run

TEST_F(RunFolder, AGreenRunOfManyShowsNoStory) {
  broken("b.toml", kViolated);
  sound("a.toml");
  const Ran many = holdfast("run " + folder_.path() + " --seeds 1..3");
  EXPECT_EQ(many.exit, 0) << many.out;
  EXPECT_FALSE(many.says("DOUBLE GRANT")) << many.out;
  EXPECT_TRUE(many.says("; as expected: lease-exclusion violated\n")) << many.out;
  EXPECT_FALSE(many.says("unexpected\n")) << many.out;
  const Ran one = holdfast("run " + path("b.toml") + " --seeds 1..3");
  EXPECT_TRUE(one.says("DOUBLE GRANT")) << one.out;
}

TEST_F(RunFolder, NoStoryOfAnExpectationThatWasMetWhenAnotherFailed) {
  // The double grant is expected; that nothing was ever granted after a promotion is what fails, and has no
  // picture.
  broken("b.toml", kViolated +
                       "[[expect]]\ncheck = \"mutual-exclusion\"\nseeds = \"== 0\"\n\n"
                       "[[expect]]\ncheck = \"reached\"\nmarks = [\"granted-after-promotion\"]\n");
  const Ran ran = holdfast("run " + path("b.toml") + " --seeds 2..3", "COLUMNS=200");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_FALSE(ran.says("DOUBLE GRANT")) << ran.out;
  EXPECT_TRUE(
      ran.says("reached: expected granted-after-promotion on all seeds, found not-reached on all 2 runs"))
      << ran.out;
}

TEST_F(RunFolder, TheEndListsWhatWasUnexpected) {
  broken("b.toml", "[[expect]]\ncheck = \"mutual-exclusion\"\nis = \"violated\"\nkind = \"overrun\"\n");
  broken("a b.toml", kHolds);
  sound("c.toml");
  const Ran ran = holdfast("run " + folder_.path() + " --seeds 4..6", "COLUMNS=200");
  EXPECT_EQ(ran.exit, 1);
  const std::size_t list = ran.out.find("\nunexpected\n");
  ASSERT_NE(list, std::string::npos) << ran.out;
  const std::string end = ran.out.substr(list);
  EXPECT_NE(end.find("mutual-exclusion: expected overrun on all seeds, found double-grant on all 3 runs "
                     "(seeds 4, 5, 6)\n"),
            std::string::npos)
      << end;
  EXPECT_NE(end.find("lease-exclusion: expected no violation on any seed, found double-grant on all 3 runs"),
            std::string::npos)
      << end;
  EXPECT_NE(end.find("reproduce   " + kTool + " run '" + path("a b.toml") + "' --seed 4\n"),
            std::string::npos)
      << end;
  EXPECT_NE(end.find("reproduce   " + kTool + " run " + path("b.toml") + " --seed 4\n"), std::string::npos)
      << end;
  EXPECT_TRUE(ran.last_line(1).starts_with("3 cases, 9 runs, 2 unexpected, ")) << ran.last_line(1);
  EXPECT_TRUE(ran.says("DOUBLE GRANT"));  // of the first that failed
  // The line does what it says.
  const Ran again = run_shell("LC_ALL=C.UTF-8 " + kTool + " run '" + path("a b.toml") + "' --seed 4");
  EXPECT_EQ(again.exit, 1) << again.out;
}

TEST_F(RunFolder, ReproducesByTheNameItWasCalledBy) {
  broken("b.toml", kViolated);
  const Ran ran = run_shell("cd " + holdfast::testing::build_path("") + " && ./holdfast run " +
                            path("b.toml") + " --seed 1");
  EXPECT_TRUE(ran.says("reproduce   ./holdfast run " + path("b.toml") + " --seed 1\n")) << ran.out;
}

// --- what is kept

std::vector<std::string> kept_folders(const std::string& out) {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(out, none)) {
    if (entry.path().filename() == "run.json")
      found.push_back(fs::relative(entry.path().parent_path(), out).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST_F(RunFolder, KeepsWhatIsAskedFor) {
  broken("in/expected.toml", kViolated);
  broken("in/failed.toml", kHolds);
  sound("in/sound.toml");
  fs::rename(path("in/expected.toml"), path("in/x.toml"));
  const auto kept = [&](const std::string& keep) {
    const std::string out = path("out-" + std::to_string(kept_folders(folder_.path()).size()));
    const Ran ran = holdfast("run " + path("in") + " --seeds 1..2 --out " + out + keep);
    EXPECT_EQ(ran.exit, 1);
    return kept_folders(out);
  };
  // Two files of one scenario's name have folders of their own.
  const std::string one = "restart-without-persistence", two = one + "-base-2";
  EXPECT_EQ(kept(""), (std::vector<std::string>{one + "/seed-1"}));
  EXPECT_EQ(kept(" --keep violated"), (std::vector<std::string>{two + "/seed-1", one + "/seed-1"}));
  EXPECT_EQ(kept(" --keep all").size(), 6u);
}

TEST_F(RunFolder, AGreenRunKeepsNothing) {
  broken("b.toml", kViolated);
  const Ran ran = holdfast("run " + path("b.toml") + " --seeds 1..3 --out " + path("out"));
  EXPECT_EQ(ran.exit, 0) << ran.out;
  EXPECT_TRUE(fs::is_empty(path("out")));
  EXPECT_TRUE(ran.says("kept        nothing")) << ran.out;
}

TEST_F(RunFolder, AnExpectedViolationThatDidNotHappenKeepsItsRun) {
  scenario("a.toml", "happy_path.toml", kViolated);
  const Ran ran =
      holdfast("run " + path("a.toml") + " --variant base --seeds 5..6 --out " + path("out"), "COLUMNS=200");
  EXPECT_EQ(ran.exit, 1);
  ASSERT_EQ(kept_folders(path("out")), (std::vector<std::string>{"happy-path/seed-5"}));
  const std::string folder = path("out/happy-path/seed-5");
  EXPECT_GT(fs::file_size(folder + "/history.jsonl"), 1000u);
  EXPECT_TRUE(ran.says("expected a violation on all seeds, found no violation on all 2 runs (seeds 5, 6)"))
      << ran.out;
  EXPECT_TRUE(ran.says("kept        " + folder + "/\n")) << ran.out;
  EXPECT_TRUE(ran.says("--seed 5\n")) << ran.out;
  EXPECT_EQ(holdfast("check " + folder + "/history.jsonl").exit, 0);
}

// --- reports

TEST_F(RunFolder, FailedExpectationsAreReportedEverywhere) {
  const std::string file = broken("wrong.toml", kHolds);
  const std::string text = read_text(file);
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("[[expect]]")), '\n');
  const Ran ran = holdfast("run " + file + " --seeds 1..3 --github --junit " + path("out/junit.xml") +
                           " --json " + path("out/run.json") + " --out " + path("out"));
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(ran.says("::error file=" + file + ",line=" + std::to_string(line) + ",title=")) << ran.out;
  EXPECT_EQ(times(ran.out, "::error"), 1u);  // at most one for each failed expectation
  const auto json = nlohmann::json::parse(read_text(path("out/run.json")));
  const auto& expectation = json["cases"][0]["expectations"][0];
  EXPECT_EQ(expectation["result"], "failed");
  EXPECT_FALSE(expectation.contains("kind"));  // it asked for none
  const std::string other = broken("other.toml", kViolated + "kind = \"double-grant\"\n");
  holdfast("run " + other + " --seed 1 --json " + path("out/other.json"));
  const auto named = nlohmann::json::parse(read_text(path("out/other.json")));
  EXPECT_EQ(named["cases"][0]["expectations"][0]["kind"], "double-grant");
  EXPECT_EQ(json["total"]["unexpected"], 1);
  const std::string artefacts = json["cases"][0]["story"]["folder"];
  for (const char* name : {"/history.jsonl", "/story.txt", "/run.json"})
    EXPECT_TRUE(fs::exists(artefacts + name)) << name;
  EXPECT_NE(read_text(artefacts + "/timeline.html").find("<canvas"), std::string::npos);
}

// Held against the common schema by a script of its own.
std::string junit_problems(const std::string& file) {
  const Ran ran =
      run_shell("python3 " + holdfast::testing::source_path("tools/holdfast/junit_test.py ") + file);
  return ran.out + ran.err;
}

TEST(JUnit, TheSchemaCheckFindsDefects) {
  const Ran ran =
      run_shell("python3 " + holdfast::testing::source_path("tools/holdfast/junit_test.py --self-test"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
}

TEST_F(RunFolder, JUnitKeepsToTheCommonSchema) {
  broken("in/b.toml", kHolds);
  sound("in/deep/a.toml");
  holdfast("run " + path("in") + " --seeds 1..2 --junit " + path("junit.xml"));
  EXPECT_EQ(junit_problems(path("junit.xml")), "");
  const std::string junit = read_text(path("junit.xml"));
  EXPECT_NE(junit.find("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), std::string::npos) << junit;
  EXPECT_NE(junit.find(".in.deep.a\" name=\"happy-path\""), std::string::npos) << junit;
  EXPECT_NE(junit.find("reproduce: "), std::string::npos) << junit;
}

TEST_F(RunFolder, JUnitOfStrangeNamesIsXmlStill) {
  broken("b.toml", kHolds);
  RunArguments arguments;
  arguments.files = {path("b.toml")};
  arguments.seeds = sim::parse_seeds("1..1");
  Plan plan = make_plan(arguments);
  plan.cases.front()->error = "a \"<&>\" \x01 \xff\xfe \xc3\xa9 \n done";
  plan.not_run.push_back({"x/y.toml", "", "no <server>"});
  write_file(path("junit.xml"), junit_xml(plan, arguments, 1.5));
  EXPECT_EQ(junit_problems(path("junit.xml")), "");
}

TEST_F(RunFolder, WhatAnInterruptCutIsSkippedNotFailed) {
  sound("a.toml");
  sound("b.toml");
  RunArguments arguments;
  arguments.files = {folder_.path()};
  arguments.seeds = sim::parse_seeds("1..5");
  arguments.junit = path("junit.xml");
  std::uint64_t runs = 0;
  arguments.run = [&](const sim::Scenario& scenario, const sim::RunOptions& options) {
    if (++runs == 7) std::raise(SIGINT);
    return sim::run_once(scenario, options);
  };
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_command(arguments), kInterrupted);
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("2 cases, 7 of 10 runs, 0 unexpected, "), std::string::npos) << out;
  EXPECT_EQ(junit_problems(path("junit.xml")), "");
  const std::string junit = read_text(path("junit.xml"));
  EXPECT_NE(junit.find("failures=\"0\" errors=\"0\" skipped=\"1\""), std::string::npos) << junit;
  EXPECT_NE(junit.find("interrupted after 2 of 5 runs"), std::string::npos) << junit;
}

// --- pictures

TEST_F(RunFolder, AsciiHasNothingBeyondAscii) {
  broken("b.toml", kViolated);
  for (const auto& [flag, before] :
       {std::pair{" --ascii", ""}, std::pair{"", "LC_ALL=C"}, std::pair{"", "LC_ALL= LANG=C"}}) {
    const Ran ran = holdfast("run " + path("b.toml") + " --seed 1" + flag, before);
    EXPECT_TRUE(ran.says("DOUBLE GRANT")) << ran.out;
    EXPECT_TRUE(std::all_of(ran.out.begin(), ran.out.end(), [](char c) { return c >= 0; })) << ran.out;
  }
  EXPECT_TRUE(holdfast("run " + path("b.toml") + " --seed 1").says("✓"));
}

TEST_F(RunFolder, ColourIsAskedForOrForATerminal) {
  broken("b.toml", kViolated);
  EXPECT_FALSE(holdfast("run " + path("b.toml") + " --seed 1").says("\x1b["));
  EXPECT_TRUE(holdfast("run " + path("b.toml") + " --seed 1 --color always").says("\x1b[32m✓"));
  if (run_shell("command -v script").exit != 0) GTEST_SKIP() << "no script(1) on this machine";
  const auto on_terminal = [&](const std::string& before) {
    return run_shell("cd " + folder_.path() + " && " + before + " script -qec '" + kTool +
                     " run b.toml --seed 1' /dev/null")
        .out;
  };
  EXPECT_NE(on_terminal("LC_ALL=C.UTF-8 TERM=xterm").find("\x1b[32m✓"), std::string::npos);
  EXPECT_EQ(on_terminal("LC_ALL=C.UTF-8 TERM=xterm NO_COLOR=1").find("\x1b[32m"), std::string::npos);
}

// --- bad input and places that cannot be written

TEST_F(RunFolder, BadInputIsOneLineAndExit64) {
  const std::string good = read_text(kScenarios + "happy_path.toml");
  const auto broken = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write_file(path(name), text);
    return "run " + path(name);
  };
  fs::create_directory(path("empty"));
  write_file(path("bytes.toml"), std::string("\x7f\x45\x4c\x46\x00\x01\xfe", 7));
  const struct {
    std::string arguments, complaint;
  } cases[] = {
      {broken("a.toml", "lease =", "laese ="), "a.toml:14:1: unknown key `laese`"},
      {broken("b.toml", "\"2s\"", "\"2 parsecs\""), "b.toml:14:9: `lease` is"},
      {"run " + path("nowhere.toml"), "nowhere.toml: cannot be opened"},
      {"run " + path("bytes.toml"), "bytes.toml:1:"},
      {"run " + path("empty"), "no scenario files here"},
      {"run " + kScenarios + "happy_path.toml --variant lock-intreface", "did you mean `lock-interface`?"},
      {"run " + kScenarios + "happy_path.toml --seeds 5..1", "--seeds"},
      {"run " + kScenarios + "happy_path.toml --world real --check-determinism", "--check-determinism"},
      // One bad file among good ones: nothing is run.
      {"run " + kScenarios + "happy_path.toml " + path("a.toml"), "a.toml:14:1"},
  };
  for (const auto& [arguments, complaint] : cases) {
    const Ran ran = holdfast(arguments);
    EXPECT_EQ(ran.exit, 64) << arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(complaint), std::string::npos) << arguments << "\n" << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "") << arguments;
  }
}

TEST_F(RunFolder, APlaceThatCannotBeWrittenIsFoundBeforeAnyRun) {
  write_file(path("file"), "");
  const std::string run = "run " + kScenarios + "happy_path.toml --seed 1";
  for (const std::string& flag :
       {"--out " + path("file") + "/below", "--out " + path("file"), "--junit " + path("file") + "/junit.xml",
        std::string("--json /proc/no/such.json")}) {
    const Ran ran = holdfast(run + " " + flag);
    EXPECT_EQ(ran.exit, 74) << flag << "\n" << ran.err;
    EXPECT_NE(ran.err.find(flag.substr(0, flag.find(' '))), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("cannot be written"), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "") << flag;
  }
}

TEST(Command, AFullStandardOutputIsExit74) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  for (const std::string& command : {"run " + kScenarios + "happy_path.toml --seed 1",
                                     std::string("list locks"), std::string("help run")}) {
    const Ran ran = holdfast(command + " >/dev/full");
    EXPECT_EQ(ran.exit, 74) << command << ran.err;
    EXPECT_NE(ran.err.find("standard output: cannot be written (No space left on device)"), std::string::npos)
        << ran.err;
  }
}

TEST(Command, ListsBeginWithTheName) {
  for (const char* what : {"locks", "faults", "workloads", "checks", "marks", "events", "recognisers"}) {
    const Ran ran = holdfast(std::string("list ") + what);
    EXPECT_EQ(ran.exit, 0);
    EXPECT_GT(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << what;
  }
  EXPECT_EQ(holdfast("list locks").out.rfind("reentrant ", 0), 0u);
}

TEST(Command, RealServersGiveTheSameVerdict) {
  const TemporaryFolder folder;
  const Ran ran = holdfast("run " + kScenarios +
                           "primary_failover_double_grant.toml --variant base --world real --seed 1" +
                           " --keep violated --out " + folder.path() + "/out");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("DOUBLE GRANT")) << ran.out;
  EXPECT_TRUE(ran.says("--seed 1 --world real\n")) << ran.out;
  std::size_t logs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
    logs += entry.path().extension() == ".log";
  EXPECT_GT(logs, 0u);
}

}  // namespace
}  // namespace holdfast::tools
