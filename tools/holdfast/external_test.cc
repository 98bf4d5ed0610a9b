// Programs of others, through the command: exit codes, what is printed, and what is left when it is killed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "lib/testing/server/temporary_folder.h"
#include "sim/scenario/scenario.h"
#include "sim/watched/pattern.h"
#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {
namespace {

class ExternalCommand : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string scenario(const std::string& program, const std::string& workload = "clients = 1") const {
    std::ofstream(path("program.sh")) << program;
    std::ofstream(path("one.toml"))
        << "schema = 1\nname = \"one\"\n[run]\nseeds = \"1\"\ntime = \"60s\"\n[lock]\nkind = \"external\"\n"
           "[workload]\nkind = \"external\"\ncommand = [\"bash\", \"program.sh\"]\n" +
               workload + "\n[[expect]]\ncheck = \"mutual-exclusion\"\n";
    return path("one.toml");
  }
  TemporaryFolder folder_;
};

constexpr const char* kOneRound =
    "for f in acquire release; do for t in invoke ok; do echo "
    "\"{\\\"type\\\":\\\"$t\\\",\\\"f\\\":\\\"$f\\\"}\"; done; done\n";

TEST_F(ExternalCommand, APassIsZeroAndABrokenProgramIsOne) {
  const Ran good = holdfast("run " + scenario(kOneRound) + " --world real");
  EXPECT_EQ(good.exit, 0) << good.out << good.err;
  const Ran bad = holdfast("run " + scenario("echo nonsense\n") + " --world real");
  EXPECT_EQ(bad.exit, 1) << bad.out << bad.err;
  EXPECT_TRUE(bad.says("a program broke: seed 1: client c1, its output 1:2: `nonsense` is no JSON"))
      << bad.out;
}

TEST_F(ExternalCommand, TheEmbeddedWorldRefusesAndAFolderGoesOn) {
  const std::string file = scenario(kOneRound);
  const Ran named = holdfast("run " + file);
  EXPECT_EQ(named.exit, 64);
  EXPECT_NE(named.err.find("the embedded world cannot run `external`"), std::string::npos) << named.err;
  std::filesystem::copy_file(kScenarios + "happy_path.toml", path("happy.toml"));
  const Ran folder = holdfast("run " + folder_.path() + " --seed 1");
  EXPECT_EQ(folder.exit, 0) << folder.out << folder.err;
  EXPECT_TRUE(folder.says("one.toml")) << folder.out;
  EXPECT_TRUE(folder.says("expected --world real")) << folder.out;
  // Several of a folder that lack the same are one line.
  std::filesystem::copy_file(file, path("two.toml"));
  const Ran both = holdfast("run " + folder_.path() + " --seed 1");
  EXPECT_TRUE(both.says("not run: " + folder_.path() + " (2 files): the embedded world cannot run"))
      << both.out;
  EXPECT_FALSE(both.says("two.toml")) << both.out;
  EXPECT_TRUE(both.says("2 not run")) << both.out;
}

TEST_F(ExternalCommand, AMissingProgramIs69) {
  const std::string file = scenario(kOneRound);
  std::string text = read_text(file);
  text.replace(text.find("\"bash\""), 6, "\"no-such-program\"");
  std::ofstream(file) << text;
  const Ran ran = holdfast("run " + file + " --world real");
  EXPECT_EQ(ran.exit, 69) << ran.out;
  EXPECT_NE(ran.err.find("there is no program `no-such-program` on this machine"), std::string::npos)
      << ran.err;
}

// Ten times, at any moment.
TEST_F(ExternalCommand, NothingOutlivesAKilledHarness) {
  const std::string file = scenario(
      "trap '' TERM HUP INT\necho $$ >> pids\n(trap '' TERM HUP; echo $BASHPID >> pids; while :; do sleep "
      "100; done) &\n"
      "echo '{\"type\":\"invoke\",\"f\":\"acquire\"}'; while :; do sleep 100; done\n",
      "clients = 2\nendless = true");
  for (int time = 1; time <= 10; ++time) {
    std::filesystem::remove(path("pids"));
    const Ran ran =
        run_shell(kTool + " run " + file + " --world real >/dev/null 2>&1 & p=$!; until [ \"$(cat " +
                  path("pids") + " 2>/dev/null | wc -l)\" -ge " + std::to_string(1 + time % 4) +
                  " ]; do sleep 0.01; done; kill -9 $p; wait $p 2>/dev/null");
    std::ifstream pids(path("pids"));
    for (std::string pid; pids >> pid;) {
      for (int i = 0; i < 3000 && ::kill(std::stoi(pid), 0) == 0; ++i) ::usleep(10'000);
      EXPECT_NE(::kill(std::stoi(pid), 0), 0) << "process " << pid << " is left";
    }
  }
}

TEST_F(ExternalCommand, InitWritesAStarterAndOverwritesNothing) {
  const Ran ran = holdfast("external init " + path("locks/first"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.last_line(),
            "Next: " + kTool + " run " + path("locks/first/our_lock.toml") + " --world real");
  const auto scenarios = sim::read_scenarios(path("locks/first/our_lock.toml"));
  ASSERT_EQ(scenarios.size(), 2u);
  sim::require_world(scenarios.front(), false);
  EXPECT_NE(read_text(path("locks/first/our_lock.workflow.yml")).find("--world real --github"),
            std::string::npos);
  EXPECT_EQ(run_shell("python3 -m py_compile " + path("locks/first/our_lock.py")).exit, 0);
  std::ofstream(path("locks/first/our_lock.py")) << "mine";
  const Ran again = holdfast("external init " + path("locks/first"));
  EXPECT_EQ(again.exit, 64);
  EXPECT_NE(again.err.find("is there already"), std::string::npos);
  EXPECT_EQ(read_text(path("locks/first/our_lock.py")), "mine");
  EXPECT_EQ(holdfast("external start x").exit, 64);
}

// A program as it is: its scenario, with its files as they are found from there.
TEST_F(ExternalCommand, InitForAProgramThatIsNotChanged) {
  std::ofstream(path("job.py")) << "print()\n";
  const Ran ran = run_shell("cd " + folder_.path() + " && " + kTool +
                            " external init watched -- python3 job.py --fast 'a \"b\"'");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.last_line(), "Next: " + kTool + " run watched/our_lock.toml --world real");
  EXPECT_FALSE(std::filesystem::exists(path("watched/our_lock.py")));
  const auto scenarios = sim::read_scenarios(path("watched/our_lock.toml"));
  ASSERT_EQ(scenarios.size(), 2u);
  EXPECT_EQ(std::get<std::vector<std::string>>(scenarios.front().workload.own.at("command")),
            (std::vector<std::string>{"python3", "../job.py", "--fast", "a \"b\""}));
  ASSERT_NE(scenarios.front().workload.recogniser, nullptr);
  EXPECT_EQ(scenarios.front().workload.recogniser->name, "set-nx");
}

// As a user would: a script with its server's address in it, which ends with an error when that goes away.
TEST_F(ExternalCommand, AScriptThatIsNotChangedIsGrantedWhatSomebodyHolds) {
  std::ofstream(path("job.sh")) << R"sh(set -e
for round in 1 2 3; do
  until [ "$(redis-cli -p 6379 set nightly me$$ NX PX 10000)" = OK ]; do sleep 0.05; done
  sleep 0.2
  redis-cli -p 6379 eval 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end' 1 nightly me$$
done
)sh";
  ASSERT_EQ(run_shell("cd " + folder_.path() + " && " + kTool + " external init watched bash job.sh").exit,
            0);
  const Ran ran = holdfast("run " + path("watched/our_lock.toml") + " --world real --seed 1");
  EXPECT_EQ(ran.exit, 1) << ran.out << ran.err;
  EXPECT_TRUE(ran.says("mutual-exclusion holds on all seeds: 0 of 1")) << ran.out;
  EXPECT_TRUE(ran.says("granted-after-promotion) on all seeds: 1 of 1")) << ran.out;
  EXPECT_TRUE(ran.says("DOUBLE GRANT")) << ran.out;
}

}  // namespace
}  // namespace holdfast::tools
