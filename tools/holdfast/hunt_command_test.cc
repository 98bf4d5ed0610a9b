// `holdfast hunt` as its users meet it: it says what is wrong with its flags, writes what it finds as files
// that run, and one seed is one hunt.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "sim/client/lock_kind.h"
#include "tools/holdfast/commands.h"
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

// Told before the first run, by its line.
TEST(HuntCommand, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/bad.toml";
  const auto refused = [&](const std::string& text, const std::string& why) {
    std::ofstream(file) << text;
    const Ran ran = holdfast("hunt --runs 64 " + file);
    EXPECT_EQ(ran.exit, 64) << text << ran.out;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
  };
  refused("[lock]\n", "the file names no lock");
  refused("[lock]\nkind = \"fare\"\n", "bad.toml:2:8: `fare` is no lock that can be hunted");
  refused("[lock]\nkind = \"fair\"\nlease = \"soon\"\n", "bad.toml:3:9:");
  refused("[lock]\nkind = \"fair\"\nleese = \"1s\"\n", "bad.toml:3:1:");
  refused("[lock]\nkind = \"fair\"\n[workload]\nclients = \"many\"\n", "bad.toml:4:11:");
  refused("[lock]\nkind = \"fair\"\n[[fault]]\nkind = \"cut\"\nat = \"1s\"\n", "`id`");
  refused("[lock]\nkind = \"external\"\n[workload]\nkind = \"external\"\ncommand = [\"true\"]\n",
          "`external` is no lock that can be hunted");
}

TEST(HuntCommand, AFileOfALockAloneIsEnough) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/least.toml";
  for (const char* const kind : {"fair", "redlock", "multi", "count-down-latch", "redisson-3.13-redlock"}) {
    std::ofstream(file) << "[lock]\nkind = \"" << kind << "\"\n";
    const Ran ran = holdfast("hunt --runs 1 --no-shrink " + file);
    EXPECT_LE(ran.exit, 1) << kind << ran.err;
  }
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

// Ctrl-C after some two hundred runs: what was found until then is written, and the hunt can be gone on with.
TEST(HuntCommand, AnInterruptedHuntEndsWithWhatItHas) {
  static int made = 0;
  sim::LockKind kind = *sim::find_lock_kind("setnx-expire");
  kind.name = "planted-that-is-interrupted";
  kind.make = [](const sim::LockSpaceOptions& options) {
    if (++made == 500) std::raise(SIGINT);
    return sim::find_lock_kind("setnx-expire")->make(options);
  };
  if (sim::find_lock_kind(kind.name) == nullptr) sim::add_hidden_lock_kinds({kind});
  made = 0;
  const TemporaryFolder folder;
  HuntArguments arguments;
  arguments.what = kind.name;
  arguments.runs = 100'000;
  arguments.out = folder.path();
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(hunt_command(arguments), kInterrupted);
  const std::string out = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("; interrupted"), std::string::npos) << out;
  EXPECT_NE(out.find("lease-exclusion/double-grant"), std::string::npos) << out;
  const std::string report = read_text(folder.path() + "/hunt.json");
  EXPECT_NE(report.find("double-grant"), std::string::npos);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.path().extension() == ".toml" ? 1 : 0;
  EXPECT_GE(files, 1u);
}

// What is written is run on real servers, and what came of it said in the file and on the screen.
TEST(HuntCommand, RunsWhatItFindsOnRealServers) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/long_hold.toml", out = folder.path() + "/found";
  std::ofstream(file)
      << "schema = 1\nname = \"long-hold\"\n[lock]\nkind = \"setnx-expire\"\nlease = \"1s\"\n"
         "[cluster]\ntopology = \"single\"\n[workload]\nkind = \"critical-section\"\n"
         "clients = 2\nrounds = 1\nhold = \"2s\"\n[[fault]]\nid = \"none\"\nkind = \"script-flush\"\n"
         "node = \"r1\"\nat = \"1ms\"\n[[expect]]\ncheck = \"no-foreign-release\"\n";
  const Ran hunted = holdfast("hunt --runs 64 --real 2 --out " + out + " " + file);
  EXPECT_EQ(hunted.exit, 1) << hunted.err;
  EXPECT_TRUE(hunted.says("on real servers it shows in 2 of 2 runs")) << hunted.out;
  std::ifstream found(out + "/setnx-expire-foreign-removal.toml");
  const std::string text((std::istreambuf_iterator<char>(found)), {});
  EXPECT_NE(text.find("# Tried: on real servers it shows in 2 of 2 runs\nschema = 1"), std::string::npos)
      << text;
  EXPECT_EQ(holdfast("hunt setnx-expire --real 0").exit, 64);
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
