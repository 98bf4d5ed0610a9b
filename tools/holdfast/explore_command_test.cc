// `holdfast explore` as its users meet it: what it says of a sound lock, of a broken promise, and of a bad
// file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

const std::string kExplored = kScenarios + "explore/";

TEST(ExploreCommand, SaysForWhatItIsComplete) {
  const Ran ran = holdfast("explore --deviations 1 " + kExplored + "fair.toml");
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("complete, no violation in any run in which at most 1 thing goes otherwise"))
      << ran.out;
  EXPECT_TRUE(ran.says("\n  fault/die at each of its places 1 to 24\n")) << ran.out;
  EXPECT_TRUE(ran.says("\n  messages take 1ms, 2ms or 600ms\n")) << ran.out;
  const Ran never = holdfast("explore --deviations 0 " + kExplored + "survivor_alone.toml");
  EXPECT_TRUE(never.says("\n  fault/power at each of its places 1 to 24, or never\n")) << never.out;
  const Ran cut = holdfast("explore --runs 10 " + kExplored + "fair.toml");
  EXPECT_EQ(cut.exit, 0) << cut.err;
  EXPECT_TRUE(cut.says("not complete")) << cut.out;
  EXPECT_TRUE(cut.says("\nthe usual run was run, at least ")) << cut.out;
  EXPECT_FALSE(ran.says(" left\n")) << ran.out;
  const Ran later = holdfast("explore --no-twice --runs 300 " + kExplored + "fair.toml");
  EXPECT_TRUE(later.says("\nall of these runs in which at most 1 thing goes otherwise were run, at least "))
      << later.out;
}

TEST(ExploreCommand, WritesARunThatBreaksAPromise) {
  const TemporaryFolder folder;
  const Ran ran = holdfast("explore " + kExplored + "failover.toml --out " + folder.path());
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_TRUE(ran.says("one thing is other than usual")) << ran.out;
  EXPECT_TRUE(ran.says("100ms in the place of 1ms")) << ran.out;
  EXPECT_TRUE(ran.says("DOUBLE GRANT")) << ran.out;
  std::string toml, decisions;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".toml") toml = entry.path().string();
    if (entry.path().extension() == ".decisions") decisions = entry.path().string();
  }
  ASSERT_NE(toml, "");
  ASSERT_NE(decisions, "");
  const Ran again = holdfast("run " + toml + " --variant base --decisions " + decisions);
  EXPECT_EQ(again.exit, 0) << again.out;
}

TEST(ExploreCommand, WritesTheTreeAsAPage) {
  const TemporaryFolder folder;
  const std::string page = folder.path() + "/tree.html";
  const Ran ran = holdfast("explore " + kExplored + "failover.toml --show 40,9000 --page " + page);
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_TRUE(ran.says("page " + page + ": 59 of 59 runs, 59 of them with all their decisions")) << ran.out;
  EXPECT_TRUE(ran.says("run 9000, of --show, is none of these: there are 59")) << ran.out;
  const std::string text = read_text(page);
  for (const char* const shown : {"run-1", "run-40", "run-59"})
    EXPECT_NE(text.find("<script id=\"" + std::string(shown) + "\""), std::string::npos) << shown;
  EXPECT_EQ(text.find("<script id=\"run-41\""), std::string::npos);
  EXPECT_EQ(text.find("<script src"), std::string::npos) << "it loads nothing";
  EXPECT_NE(text.find("holdfast explore " + kExplored + "failover.toml --page"), std::string::npos);
  EXPECT_EQ(holdfast("explore " + kExplored + "failover.toml --open").exit, 64);
  EXPECT_EQ(holdfast("explore " + kExplored + "failover.toml --show 3").exit, 64);
  EXPECT_EQ(holdfast("explore " + kExplored + "failover.toml --page " + folder.path()).exit, 74);
}

TEST(ExploreCommand, SaysWhatIsWrong) {
  EXPECT_EQ(holdfast("explore nothing.toml").exit, 64);
  EXPECT_EQ(holdfast("explore fair").exit, 64);
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/bad.toml") << "[lock]\nkind = \"fair\"\nlease = \"soon\"\n";
  const Ran ran = holdfast("explore " + folder.path() + "/bad.toml");
  EXPECT_EQ(ran.exit, 64);
  EXPECT_NE(ran.err.find("bad.toml:3:9:"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace holdfast::tools
