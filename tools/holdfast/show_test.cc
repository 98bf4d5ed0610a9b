// `holdfast show`: a kept run, told again.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tools/holdfast/kept_run.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

class Show : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // Runs one seed of the double grant and keeps it.
  std::string keep(const std::string& out, const std::string& seed) {
    const Ran ran =
        holdfast("run " + kScenarios + "primary_failover_double_grant.toml --variant base --seed " + seed +
                 " --keep violated --out " + path(out));
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
    told_ = ran.out;
    return path(out) + "/primary-failover-double-grant/seed-" + seed;
  }
  TemporaryFolder folder_;
  std::string told_;  // what `run` printed
};

// From the headline of the picture to the end of the story.
std::string story_in(const std::string& text) {
  const std::size_t begin = text.find("DOUBLE GRANT"), end = text.find("\n\nkept", begin);
  return begin == std::string::npos
             ? ""
             : text.substr(begin, std::min(end, text.find("\n\nreproduce", begin)) - begin);
}

TEST_F(Show, TellsWhatTheRunTold) {
  const std::string folder = keep("out", "7");
  const Ran ran = holdfast("show " + folder);
  EXPECT_EQ(ran.exit, 0) << ran.err;
  ASSERT_NE(story_in(told_), "");
  EXPECT_EQ(story_in(ran.out), story_in(told_));
  EXPECT_EQ(story_in(ran.out) + "\n", read_text(folder + "/story.txt"));
  EXPECT_TRUE(ran.says("primary-failover-double-grant, seed 7 (the violation is expected)")) << ran.out;
  EXPECT_TRUE(ran.says("reproduce   " + kTool + " run " + kScenarios +
                       "primary_failover_double_grant.toml --variant base --seed 7\n"));
  EXPECT_TRUE(ran.says("timeline    " + folder + "/timeline.html\n")) << ran.out;
  EXPECT_EQ(holdfast("show " + folder + "/").out, ran.out);
  EXPECT_EQ(holdfast("show " + folder + "/run.json").out, ran.out);
  EXPECT_EQ(holdfast("show " + path("out")).out, ran.out);  // the only one below
}

TEST_F(Show, ObeysTheTerminal) {
  const std::string folder = keep("out", "7");
  EXPECT_TRUE(holdfast("show " + folder + " --color always").says("\x1b["));
  const std::string ascii = holdfast("show " + folder + " --ascii").out;
  EXPECT_TRUE(std::all_of(ascii.begin(), ascii.end(), [](char c) { return c >= 0; })) << ascii;
}

TEST_F(Show, OfSeveralListsThem) {
  keep("out", "7");
  keep("out", "8");
  const Ran ran = holdfast("show " + path("out"));
  EXPECT_EQ(ran.exit, 0);
  EXPECT_TRUE(ran.says(path("out") +
                       "/primary-failover-double-grant/seed-7  lease-exclusion is violated, as expected\n"))
      << ran.out;
  EXPECT_TRUE(ran.says("seed-8  ")) << ran.out;
  EXPECT_EQ(holdfast("show --open " + path("out")).exit, 64);
}

TEST_F(Show, WritesThePage) {
  const std::string folder = keep("out", "7");
  const Ran ran = holdfast("show " + folder + " --timeline " + path("page/t.html"));
  EXPECT_TRUE(ran.says("timeline    " + path("page/t.html"))) << ran.out;
  EXPECT_EQ(read_text(path("page/t.html")), read_text(folder + "/timeline.html"));
}

TEST_F(Show, TellsOfAHistoryToo) {
  const std::string history = keep("out", "7") + "/history.jsonl";
  fs::copy(history, path("h.jsonl"));
  const Ran ran = holdfast("show " + path("h.jsonl") + " --timeline " + path("t.html"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_TRUE(ran.says("DOUBLE GRANT")) << ran.out;
  EXPECT_TRUE(ran.says("reproduce   " + kTool + " check " + path("h.jsonl") + "\n")) << ran.out;
  EXPECT_NE(read_text(path("t.html")).find("<canvas"), std::string::npos);
}

TEST_F(Show, OpensThePage) {
  const std::string folder = keep("out", "7");
  fs::create_directory(path("bin"));
  write_file(path("bin/xdg-open"), "#!/bin/sh\necho \"$1\" >" + path("opened") + "\n");
  fs::permissions(path("bin/xdg-open"), fs::perms::owner_all);
  EXPECT_EQ(holdfast("show --open " + folder, "PATH=" + path("bin") + ":/usr/bin:/bin").exit, 0);
  EXPECT_EQ(read_text(path("opened")), folder + "/timeline.html\n");
  const Ran none = holdfast("show --open " + folder, "PATH=/nonexistent");
  EXPECT_EQ(none.exit, 69);
  EXPECT_NE(none.err.find(folder + "/timeline.html"), std::string::npos) << none.err;
}

TEST_F(Show, RefusesWhatIsNone) {
  const auto refused = [&](const std::string& what, const std::string& complaint) {
    const Ran ran = holdfast("show " + what);
    EXPECT_EQ(ran.exit, 64) << ran.err;
    EXPECT_NE(ran.err.find(complaint), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  };
  refused(path("nowhere"), "no such file or folder");
  refused(folder_.path(), "no run is kept here");
  const std::string folder = keep("out", "7");
  write_file(folder + "/run.json", "{\"schema\":2}");
  refused(folder, "has schema 2, expected 1");
  write_file(folder + "/run.json", "{\"schema\":1}");
  refused(folder, "is no description of a run");
}

}  // namespace
}  // namespace holdfast::tools
