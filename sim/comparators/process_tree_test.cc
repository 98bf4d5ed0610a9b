// Pausing and killing a server whose processes are in sessions of their own.
#include "sim/comparators/process_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "lib/testing/server/processes.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim {
namespace {

TEST(ProcessTree, ReachesWhatIsInASessionOfItsOwn) {
  const auto world = testing::make_world(testing::Kind::real);
  world->run([&] {
    Runtime& runtime = world->harness().runtime();
    const TemporaryFolder folder;
    ChildProcess root({.program = "/bin/sh",
                       .arguments = {"-c", "setsid sh -c 'sleep 1000; true' & setsid sleep 1000 & wait"},
                       .folder = folder.path(),
                       .output = folder.path() + "/out"});
    // Until they sleep: one whose program is still read from a busy disk stops when that has answered.
    std::vector<int> all;
    const auto sleeps = [](int pid) { return state_of(pid) == 'S'; };
    for (int tries = 0; tries < 12'000; ++tries) {
      runtime.sleep_for(std::chrono::milliseconds(5));
      all = descendants_of(root.pid());
      if (all.size() == 3 && std::all_of(all.begin(), all.end(), sleeps)) break;
    }
    ASSERT_EQ(all.size(), 3u);
    ProcessTree tree;
    tree.pause(root);
    for (const int pid : all) EXPECT_EQ(state_of(pid), 'T') << pid;
    tree.resume(root);
    for (const int pid : all) EXPECT_NE(state_of(pid), 'T') << pid;
    tree.pause(root);
    tree.kill(root);
    EXPECT_FALSE(root.running());
    for (const int pid : all) EXPECT_TRUE(state_of(pid) == 'X' || state_of(pid) == 'Z') << pid;
  });
}

}  // namespace
}  // namespace holdfast::sim
