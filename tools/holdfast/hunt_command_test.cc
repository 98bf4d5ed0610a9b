// `holdfast hunt` as its users meet it: it says what is wrong with its flags, writes what it finds as files
// that run, and one seed is one hunt.
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

TEST(HuntCommand, SaysWhatIsWrongWithAFlag) {
  const auto refused = [](const std::string& flags, const std::string& why) {
    const Ran ran = holdfast("hunt " + flags);
    EXPECT_EQ(ran.exit, 64) << flags;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  };
  refused("reentrnt", "`reentrnt` is no lock and no scenario file (*.toml), expected such as reentrant");
  refused("reentrnt", "did you mean `reentrant`?");
  refused("nothing.toml", "nothing.toml");
  refused("fair --for soon", "--for: `soon` is no time, expected one such as 60s");
  refused("fair --runs 64 --shard 3/2 --no-feedback", "--shard: `3/2`, expected K/N such as 1/8");
  refused("fair --runs 64 --shard 1/2", "expected --no-feedback and --runs as well");
}

TEST(HuntCommand, WritesWhatItFindsAsFilesThatRun) {
  const TemporaryFolder folder;
  const Ran hunted = holdfast("hunt setnx-expire --runs 128 --seed 1 --out " + folder.path());
  EXPECT_EQ(hunted.exit, 1) << hunted.err;
  EXPECT_TRUE(hunted.says("no-foreign-release/foreign-removal")) << hunted.out;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.path().extension() == ".toml" ? 1 : 0;
  EXPECT_GE(files, 1u);
  const Ran run = holdfast("run " + folder.path());
  EXPECT_EQ(run.exit, 0) << run.out;
}

// Decisions of a file are obeyed: the first hold of the only client lasts as long as they say.
TEST(RunCommand, ObeysAFileOfDecisions) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/one.toml", decisions = folder.path() + "/one.decisions";
  std::ofstream(file)
      << "schema = 1\nname = \"one\"\n[run]\nseeds = \"7\"\n[lock]\nkind = \"fair\"\n[workload]\n"
         "kind = \"critical-section\"\nclients = 1\nrounds = 1\nhold = \"1ms..900ms\"\n"
         "[[expect]]\ncheck = \"mutual-exclusion\"\n";
  const auto trace = [&](const std::string& flags) {
    const std::string out = holdfast("run " + file + " " + flags).out;
    return out.substr(out.rfind("trace "));
  };
  std::ofstream(decisions) << "seed 7\n";
  EXPECT_EQ(trace("--decisions " + decisions), trace("--seed 7")) << "nothing differs";
  std::ofstream(decisions) << "seed 7\nfix client/c1/0/work 0 5000000\n";
  EXPECT_NE(trace("--decisions " + decisions), trace("--seed 7"));
  std::ofstream(decisions) << "seed 7\nforget it\n";
  const Ran ran = holdfast("run " + file + " --decisions " + decisions);
  EXPECT_EQ(ran.exit, 64);
  EXPECT_NE(ran.err.find("one.decisions:2:1: expected `seed N`"), std::string::npos) << ran.err;
}

TEST(HuntCommand, OneSeedIsOneHuntWhateverTheJobs) {
  const auto traced = [](const std::string& flags) {
    const std::string out = holdfast("hunt fair --runs 128 --no-shrink " + flags).out;
    return out.substr(out.rfind("trace "));
  };
  EXPECT_EQ(traced("--jobs 1 --seed 4"), traced("--jobs 3 --seed 4"));
  EXPECT_NE(traced("--seed 4"), traced("--seed 5"));
}

}  // namespace
}  // namespace holdfast::tools
