#include "lib/testing/server/processes.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "lib/testing/server/child_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast {
namespace {

// Looks every five milliseconds, for as long as a slow machine may need.
bool comes_true(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 12'000; ++tries) {
    if (condition()) return true;
    ::poll(nullptr, 0, 5);
  }
  return false;
}

// A shell at work, and all that it starts: also what is in a session of its own ends with it.
class Shell {
 public:
  Shell(const std::string& folder, const std::string& script)
      : child_({.program = "/bin/sh",
                .arguments = {"-c", script},
                .folder = folder,
                .output = folder + "/out"}) {}
  ~Shell() {
    for (const int pid : descendants_of(pid_)) ::kill(pid, SIGKILL);
  }
  int pid() const { return pid_; }

 private:
  const ChildProcess child_;
  const int pid_ = child_.pid();
};

class Processes : public ::testing::Test {
 protected:
  Shell shell(const std::string& script) { return Shell(folder_.path(), script); }
  TemporaryFolder folder_;
};

constexpr const char* kBusy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

TEST_F(Processes, DescendantsAreFoundInSessionsOfTheirOwn) {
  const Shell root = shell("setsid sh -c 'sleep 1000; true' & wait");
  EXPECT_TRUE(comes_true([&] { return descendants_of(root.pid()).size() == 2; }));
  const std::vector<int> ours = descendants_of(::getpid());
  EXPECT_NE(std::find(ours.begin(), ours.end(), root.pid()), ours.end());
}

TEST_F(Processes, WhoSleepsUsesNothing) {
  const Shell root = shell("exec sleep 1000");
  ASSERT_TRUE(comes_true([&] { return state_of(root.pid()) == 'S'; }));
  const double before = cpu_seconds_of(root.pid());
  EXPECT_LT(before, 0.2);
}

TEST_F(Processes, WhatADescendantUsesCounts) {
  const Shell root = shell("setsid sh -c 'while :; do :; done' & wait");
  EXPECT_TRUE(comes_true([&] { return cpu_seconds_of(root.pid()) > 0.3; }));
}

TEST_F(Processes, WhatAChildUsedCountsWhenItHasEnded) {
  const Shell root = shell(std::string("sh -c '") + kBusy + "' ; echo done > done; exec sleep 1000");
  const std::string done = folder_.path() + "/done";
  ASSERT_TRUE(comes_true([&] { return ::access(done.c_str(), F_OK) == 0; }));
  EXPECT_TRUE(descendants_of(root.pid()).empty());
  EXPECT_GT(cpu_seconds_of(root.pid()), 0.05);
}

TEST_F(Processes, OfNobodyNothingIsKnown) {
  EXPECT_EQ(state_of(-1), 'X');
  EXPECT_EQ(cpu_seconds_of(-1), 0);
}

}  // namespace
}  // namespace holdfast
