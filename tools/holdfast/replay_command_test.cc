// `holdfast replay`: a kept run, a find and a scenario file, as pages.
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/holdfast/output.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

// Of the run that is kept there; `run` itself prints one for all its runs.
std::string trace_in(const std::string& folder) {
  const std::string text = read_text(folder + "/run.json"), name = "\"trace\": \"";
  const std::size_t at = text.find(name);
  return at == std::string::npos ? "none" : text.substr(at + name.size(), 16);
}

class ReplayCommand : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void refused(const std::string& arguments, const std::string& complaint) const {
    const Ran ran = holdfast("replay " + arguments);
    EXPECT_EQ(ran.exit, 64) << arguments << '\n' << ran.err;
    EXPECT_NE(ran.err.find(complaint), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  const std::string file_ = kScenarios + "primary_failover_double_grant.toml";
  TemporaryFolder folder_;
};

TEST_F(ReplayCommand, AKeptRunIsTheRunThatWasKept) {
  const Ran kept = holdfast("run " + file_ + " --variant base --seed 7 --keep violated --out " + path("out"));
  ASSERT_EQ(kept.exit, 0) << kept.err;
  const std::string folder = path("out") + "/primary-failover-double-grant/seed-7";
  const Ran ran = holdfast("replay " + folder);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(ran.says(
      "primary-failover-double-grant, seed 7: lease-exclusion is violated (double-grant) at 136.053 ms"))
      << ran.out;
  EXPECT_TRUE(ran.says("page        " + folder + "/replay.html\n")) << ran.out;
  EXPECT_TRUE(ran.says("reproduce   " + kTool + " replay " + file_ + " --seed 7\n")) << ran.out;
  EXPECT_EQ(ran.last_line(), "trace " + trace_in(folder));
  EXPECT_FALSE(ran.says("not the run that was kept")) << ran.out;
  EXPECT_NE(read_text(folder + "/replay.html").find("\"seed\":7"), std::string::npos);
  EXPECT_EQ(holdfast("replay " + path("out")).out, ran.out) << "the only one below";

  std::string description = read_text(folder + "/run.json");
  const std::string trace = trace_in(folder);
  description.replace(description.find(trace), trace.size(), "0123456789abcdef");
  write_file(folder + "/run.json", description);
  EXPECT_TRUE(
      holdfast("replay " + folder).says("not the run that was kept, whose trace is 0123456789abcdef"));
  EXPECT_FALSE(holdfast("replay " + folder + " --seed 8").says("not the run that was kept"));
  refused(folder + " --variant base", "expected " + file_ + " in its place");
  description.replace(description.find("\"embedded\""), 10, "\"real\"");
  write_file(folder + "/run.json", description);
  refused(folder, "was run in the real world, expected a run of the embedded world");
}

TEST_F(ReplayCommand, AFindIsRunWithTheDecisionsBesideIt) {
  fs::copy(file_, path("find.toml"));
  write_file(path("find.decisions"), "seed 7\nfix client/c1/0/work 0 5000000\n");
  const Ran kept = holdfast("run " + path("find.toml") + " --variant base --decisions " +
                            path("find.decisions") + " --keep all --out " + path("out"));
  const std::string folder = path("out") + "/primary-failover-double-grant/seed-7";
  const std::string run = "trace " + trace_in(folder);
  EXPECT_EQ(holdfast("replay " + folder).last_line(), run) << "a kept run knows its decisions" << kept.err;
  fs::remove_all(path("out"));
  const std::string page = " --page " + path("p.html");
  const Ran ran = holdfast("replay " + folder_.path() + page);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.last_line(), run);
  EXPECT_TRUE(ran.says(" --decisions " + path("find.decisions") + "\n")) << ran.out;
  EXPECT_EQ(holdfast("replay " + path("find.toml") + page).last_line(), run);
  EXPECT_NE(holdfast("replay " + path("find.toml") + " --seed 7" + page).last_line(), run);
  fs::rename(path("find.decisions"), path("other.decisions"));
  EXPECT_EQ(
      holdfast("replay " + path("find.toml") + " --decisions " + path("other.decisions") + page).last_line(),
      run);
  fs::copy(file_, path("second.toml"));
  refused(folder_.path(), "2 scenario files are here, expected one of them, such as " + path("find.toml"));
}

TEST_F(ReplayCommand, AVariantAndASeed) {
  const Ran ran = holdfast("replay " + file_ + " --variant no-failover --seed 3 --page " + path("p.html"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(ran.says("primary-failover-double-grant/no-failover, seed 3: nothing is violated\n"))
      << ran.out;
  EXPECT_TRUE(ran.says(" --variant no-failover --seed 3\n")) << ran.out;
}

TEST_F(ReplayCommand, OpensThePage) {
  fs::create_directory(path("bin"));
  write_file(path("bin/xdg-open"), "#!/bin/sh\necho \"$1\" >" + path("opened") + "\n");
  fs::permissions(path("bin/xdg-open"), fs::perms::owner_all);
  const std::string call = "replay " + kScenarios + "happy_path.toml --open --page " + path("p.html");
  EXPECT_EQ(holdfast(call, "PATH=" + path("bin") + ":/usr/bin:/bin").exit, 0);
  EXPECT_EQ(read_text(path("opened")), path("p.html") + "\n");
  EXPECT_EQ(holdfast(call, "PATH=/nonexistent").exit, 69);
}

TEST_F(ReplayCommand, RefusesWhatCannotBeRunAgain) {
  refused(path("nowhere"), "no such file or folder, expected a folder that");
  refused(folder_.path(), "nothing to run again, expected a folder that");
  write_file(path("history.jsonl"), "{}\n");
  refused(path("history.jsonl"), "is no scenario file (*.toml)");
  refused(file_ + " --variant none", "none");
  refused(file_ + " --decisions " + path("none") + " --seed 1", "--seed");
  refused(file_ + " --decisions " + path("none"), "cannot be read, expected a file of decisions");
  refused(kScenarios + "external/grants_by_election.toml", "a replay is of the embedded world only");
  const Ran ran = holdfast("replay " + file_ + " --page /dev/null/p.html");
  EXPECT_EQ(ran.exit, 74) << ran.err;
}

}  // namespace
}  // namespace holdfast::tools
