// The command as its users meet it: what it prints, writes and returns.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/testing/folders.h"
#include "lib/testing/server/temporary_folder.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/reports.h"

namespace holdfast::tools {
namespace {

const std::string kScenarios = holdfast::testing::source_path("scenarios/");

struct Ran {
  int exit = -1;
  std::string out, err;
  std::string last_line() const {
    const std::size_t end = out.find_last_not_of('\n');
    const std::size_t begin = out.rfind('\n', end);
    return out.substr(begin + 1, end - begin);
  }
};

Ran holdfast(const std::string& arguments, const std::string& before = "") {
  const TemporaryFolder folder;
  const std::string err = folder.path() + "/err";
  const std::string line =
      before + " " + holdfast::testing::build_path("holdfast ") + arguments + " 2>" + err;
  Ran ran;
  std::FILE* pipe = popen(line.c_str(), "r");
  std::array<char, 4096> buffer;
  std::size_t got = 0;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) ran.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  ran.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ostringstream text;
  text << std::ifstream(err).rdbuf();
  ran.err = text.str();
  return ran;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Command, TellsTheStoryOfTheDoubleGrant) {
  const Ran ran = holdfast("run " + kScenarios + "primary_failover_double_grant.toml --seeds 1..4");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("double-grant"), std::string::npos);
  EXPECT_NE(ran.out.find("--variant base --seed 1"), std::string::npos);
  EXPECT_NE(ran.out.find("oversold"), std::string::npos);
  EXPECT_EQ(ran.last_line().rfind("trace ", 0), 0u) << ran.last_line();
  EXPECT_EQ(ran.last_line().size(), 22u);
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
  EXPECT_EQ(run_command(arguments), kNotDeterministic);
  arguments.run = sim::run_once;
  EXPECT_EQ(run_command(arguments), kMet);
}

TEST(Command, FailedExpectationsAreReportedEverywhere) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/wrong.toml";
  std::string text = read(kScenarios + "restart_without_persistence.toml");
  text = text.substr(0, text.find("[[expect]]")) + "[[expect]]\ncheck = \"lease-exclusion\"\n";
  write_file(file, text);
  const std::size_t line =
      static_cast<std::size_t>(std::count(
          text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("[[expect]]")), '\n')) +
      1;

  const Ran ran =
      holdfast("run " + file + " --seeds 1..3 --github --junit " + folder.path() + "/out/junit.xml --json " +
               folder.path() + "/out/run.json --out " + folder.path() + "/out");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_NE(ran.out.find("::error file=" + file + ",line=" + std::to_string(line) + ",title="),
            std::string::npos)
      << ran.out;
  std::size_t annotations = 0;
  for (std::size_t at = ran.out.find("::error"); at != std::string::npos;
       at = ran.out.find("::error", at + 1))
    ++annotations;
  EXPECT_EQ(annotations, 1u);  // at most one for each failed expectation

  const std::string junit = read(folder.path() + "/out/junit.xml");
  EXPECT_NE(junit.find("tests=\"1\" failures=\"1\" errors=\"0\""), std::string::npos) << junit;
  const auto json = nlohmann::json::parse(read(folder.path() + "/out/run.json"));
  EXPECT_EQ(json["cases"][0]["expectations"][0]["result"], "failed");
  const std::string artefacts = json["cases"][0]["story"]["folder"];
  EXPECT_TRUE(std::filesystem::exists(artefacts + "/history.jsonl"));
  EXPECT_TRUE(std::filesystem::exists(artefacts + "/story.txt"));
  EXPECT_NE(read(artefacts + "/timeline.html").find("<canvas"), std::string::npos);
}

TEST(Command, BadInputIsOneLineAndExit64) {
  const TemporaryFolder folder;
  const std::string good = read(kScenarios + "happy_path.toml");
  const auto broken = [&](const std::string& name, const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write_file(folder.path() + "/" + name, text);
    return "run " + folder.path() + "/" + name;
  };
  std::filesystem::create_directory(folder.path() + "/empty");
  write_file(folder.path() + "/bytes.toml", std::string("\x7f\x45\x4c\x46\x00\x01\xfe", 7));
  const struct {
    std::string arguments, complaint;
  } cases[] = {
      {broken("a.toml", "lease =", "laese ="), "a.toml:14:1: unknown key `laese`"},
      {broken("b.toml", "\"2s\"", "\"2 parsecs\""), "b.toml:14:9: `lease` is"},
      {"run " + folder.path() + "/nowhere.toml", "nowhere.toml: cannot be opened"},
      {"run " + folder.path() + "/bytes.toml", "bytes.toml:1:"},
      {"run " + folder.path() + "/empty", "no scenario files here"},
      {"run " + kScenarios + "happy_path.toml --variant lock-intreface", "did you mean `lock-interface`?"},
      {"run " + kScenarios + "happy_path.toml --seeds 5..1", "--seeds"},
      {"run " + kScenarios + "happy_path.toml --world reel", "--world"},
      {"run " + kScenarios + "happy_path.toml --world real --check-determinism", "--check-determinism"},
      {"run", "FILE"},
      {"walk", "holdfast --help"},
      {"list lokcs", "did you mean `locks`?"},
      // One bad file among good ones: nothing is run.
      {"run " + kScenarios + "happy_path.toml " + folder.path() + "/a.toml", "a.toml:14:1"},
  };
  for (const auto& [arguments, complaint] : cases) {
    const Ran ran = holdfast(arguments);
    EXPECT_EQ(ran.exit, 64) << arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(complaint), std::string::npos) << arguments << "\n" << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "") << arguments;
  }
}

TEST(Command, AMissingServerIsExit69) {
  const Ran ran =
      holdfast("run " + kScenarios + "happy_path.toml --world real --seed 1", "PATH=/nonexistent");
  EXPECT_EQ(ran.exit, 69) << ran.err;
  EXPECT_NE(ran.err.find("apt-get install"), std::string::npos) << ran.err;
}

TEST(Command, ListsBeginWithTheName) {
  for (const char* what : {"locks", "faults", "checks", "marks", "events"}) {
    const Ran ran = holdfast(std::string("list ") + what);
    EXPECT_EQ(ran.exit, 0);
    EXPECT_GT(std::count(ran.out.begin(), ran.out.end(), '\n'), 1) << what;
  }
  EXPECT_EQ(holdfast("list locks").out.rfind("reentrant ", 0), 0u);
}

TEST(Command, RealServersGiveTheSameVerdict) {
  const Ran ran = holdfast("run " + kScenarios +
                           "primary_failover_double_grant.toml --variant base --world real --seed 1");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("double-grant"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::tools
