// The client that comes when all is over, in both worlds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "checker/checks/check.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;
using checker::Outcome;

std::string file(const std::string& lock, const std::string& more = "") {
  return "schema = 1\nname = \"rest\"\n[run]\nseeds = \"1\"\ntime = \"30s\"\n[lock]\nlease = \"1s\"\n" +
         lock + "[workload]\nkind = \"critical-section\"\nclients = 3\nrounds = 2\nhold = \"5ms..20ms\"\n" +
         more + "\n[[expect]]\ncheck = \"at-rest\"\n";
}

RunResult play(const std::string& text, bool embedded) {
  const TemporaryFolder folder;
  return run_once(parse_scenarios(text, "rest.toml").front(),
                  {.embedded = embedded, .seed = 1, .folder = folder.path(), .keep_history = true});
}

class AtRest : public ::testing::TestWithParam<bool> {
 protected:
  static RunResult play(const std::string& text) { return sim::play(text, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Worlds, AtRest, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

// How many grants to `rest` stood at one time, at most.
int most_at_once(const RunResult& run) {
  int now = 0, most = 0;
  for (const Event& event : run.history.events()) {
    if (!run.history.text(event.process).starts_with("rest/")) continue;
    if (event.f == Function::acquire && event.type == EventType::ok) most = std::max(most, ++now);
    if (event.f == Function::release && event.type == EventType::invoke) --now;
  }
  return most;
}

TEST_P(AtRest, AllPermitsAreAskedForAtOnce) {
  const RunResult run = play(file("kind = \"semaphore\"\npermits = 3\n"));
  EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << run.verdicts.front().reason;
  EXPECT_EQ(most_at_once(run), 3);
  EXPECT_EQ(run.grants, 6u);
}

TEST_P(AtRest, AllKeysAreAskedForAtOnce) {
  const RunResult run = play(file("kind = \"permit-semaphore\"\npermits = 2\n", "own_keys = true\n"));
  EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << run.verdicts.front().reason;
  EXPECT_EQ(most_at_once(run), 6);
}

// What has no end is healed by `calm`, long after the work is done here: nobody asks before.
TEST_P(AtRest, IsNotAskedBeforeTheFaultsAreHealedForGood) {
  const RunResult run = play(
      "schema = 1\nname = \"rest\"\n[run]\nseeds = \"1\"\ntime = \"30s\"\ncalm = \"7s\"\n"
      "[lock]\nkind = \"reentrant\"\nlease = \"200ms\"\n"
      "[workload]\nkind = \"critical-section\"\nclients = 1\nrounds = 1\nwait = \"10ms\"\n"
      "[[fault]]\nid = \"partition\"\nkind = \"partition\"\nafter = { message = \"EVALSHA\" }\n"
      "[[expect]]\ncheck = \"at-rest\"\n");
  EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << run.verdicts.front().reason;
}

// Hundreds of tasks ask at once, in the run and after it: each acquisition keeps its name.
TEST(AtRestEmbedded, TheLedgerIsRightWhereHundredsAskAtOnce) {
  const RunResult run = sim::play(file("kind = \"permit-semaphore\"\npermits = 2\n",
                                       "own_keys = true\nthreads = 110\n\n[[expect]]\ncheck = \"truth\"\n"),
                                  true);
  ASSERT_EQ(run.verdicts.size(), 2u);
  for (const checker::Verdict& verdict : run.verdicts)
    EXPECT_EQ(verdict.outcome, Outcome::holds) << verdict.reason;
}

// A fault that comes again and again and is slow to act, since its server loads, is waited for as well.
TEST(AtRestEmbedded, AFaultThatIsAboutToActIsNotOver) {
  const std::string text = file("kind = \"redisson\"\n[cluster]\npersistence = \"aof-always\"\n",
                                "wait = \"1ms\"\n"
                                R"([[fault]]
id = "again"
kind = "read-only-moment"
every = "190ms"
node = "r1"
for = "1ms"
[[fault]]
id = "loading"
kind = "loading"
after = { message = "EVALSHA" }
node = "r1"
for = "340ms"
)");
  const Scenario scenario = parse_scenarios(text, "rest.toml").front();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult run = run_once(scenario, {.seed = seed});
    EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << seed << ": " << run.verdicts.front().reason;
  }
}

// A fault that was asked of a server and took effect on the one that was started again is healed there.
TEST(AtRestEmbedded, AFaultThatARestartOvertookIsHealed) {
  const std::string text = file("kind = \"spin\"\n[cluster]\npersistence = \"aof-always\"\n", R"([[fault]]
id = "full"
kind = "memory-full"
after = { event = "client.started" }
node = "r1"
for = "500ms"
[[fault]]
id = "restart"
kind = "restart"
after = { event = "lock.requested" }
node = "r1"
)");
  const Scenario scenario = parse_scenarios(text, "rest.toml").front();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult run = run_once(scenario, {.seed = seed});
    EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << seed << ": " << run.verdicts.front().reason;
  }
}

// SETNX, then EXPIRE: who dies between the two leaves a lock that nobody gets.
TEST_P(AtRest, ALockWithoutExpiryIsFoundOnTheServerAndByWhoAsks) {
  const RunResult run = play(file("kind = \"setnx-expire\"\n", R"(wait = "200ms"
[[fault]]
id = "lost"
kind = "reset-before-request"
command = "EXPIRE"
nth = 1
at = "0s"
for = "1s"
[[fault]]
id = "die"
kind = "crash"
client = "$client"
after = { message = "EXPIRE", phase = "request", nth = 1 }
)"));
  const checker::Verdict& verdict = run.verdicts.front();
  ASSERT_EQ(verdict.outcome, Outcome::violated) << verdict.reason;
  EXPECT_EQ(verdict.violations, 2u);
  for (const checker::Witness& witness : verdict.witnesses) {
    EXPECT_TRUE(witness.kind == "no-expiry" || witness.kind == "not-free") << witness.why;
    EXPECT_EQ(witness.key, witness.kind == "no-expiry"
                               ? run.history.text(run.history.events()[witness.events[0]].key)
                               : "stock:42");
  }
}

// What `rest` does is no part of the story: it hits no trigger.
TEST_P(AtRest, NoFaultActsAfterTheWork) {
  const RunResult run = play(file("kind = \"reentrant\"\n", R"(
[[fault]]
id = "late"
kind = "pause-server"
node = "r1"
after = { event = "lock.granted", nth = 7 }
for = "1ms"
[[fault]]
id = "later"
kind = "pause-server"
node = "r1"
after = { event = "lock.releasing", nth = 7 }
for = "1ms"
)"));
  EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << run.verdicts.front().reason;
  for (const Event& event : run.history.events()) EXPECT_NE(event.f, Function::fault);
}

// A fault that comes again and again ends with the work.
TEST_P(AtRest, NoFaultComesAgain) {
  const RunResult run = play(file("kind = \"reentrant\"\n", R"(
[[fault]]
id = "again"
kind = "pause-server"
node = "r1"
every = "20ms"
for = "30ms"
)"));
  EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << run.verdicts.front().reason;
  std::int64_t last_fault_ns = 0, asked_ns = 0;
  for (const Event& event : run.history.events()) {
    if (event.f == Function::fault) last_fault_ns = event.time_ns;
    if (asked_ns == 0 && run.history.text(event.process) == "rest/0") asked_ns = event.time_ns;
  }
  EXPECT_GT(last_fault_ns, 0);
  EXPECT_GE(asked_ns, last_fault_ns);
}

TEST(AtRestRuns, AServerThatNobodyStartsAgainLeavesItOpen) {
  const RunResult run = play(file("kind = \"reentrant\"\n", R"(
[[fault]]
id = "die"
kind = "crash"
node = "r1"
after = { event = "lock.released", nth = 6 }
)"),
                             true);
  EXPECT_EQ(run.verdicts.front().outcome, Outcome::unknown) << run.verdicts.front().reason;
}

// A run that its time ended has no rest.
TEST(AtRestRuns, ARunThatIsCutOffIsNotJudged) {
  std::string text = file("kind = \"reentrant\"\n");
  text.replace(text.find("30s"), 3, "20ms");
  const RunResult run = play(text, true);
  EXPECT_TRUE(run.capped);
  EXPECT_EQ(run.verdicts.front().outcome, Outcome::unknown);
}

TEST(AtRestRuns, WhoHasNoLockOfOursCannotBeAsked) {
  const std::string text =
      "schema = 1\nname = \"rest\"\n[run]\nseeds = \"1\"\n[lock]\nkind = "
      "\"count-down-latch\"\n[workload]\nkind = "
      "\"count-down\"\nclients = 3\nrounds = 2\n[[expect]]\ncheck = \"at-rest\"\n";
  try {
    parse_scenarios(text, "rest.toml");
    FAIL();
  } catch (const BadScenario& error) {
    EXPECT_NE(std::string(error.what())
                  .find("asks for a lock of ours after the work, and the workload `count-down`"),
              std::string::npos)
        << error.what();
  }
}

TEST(AtRestRuns, OurLocksLeaveNothing) {
  for (const LockKind& kind : all_lock_kinds()) {
    if (kind.historic || kind.latch || kind.make == nullptr) continue;
    SCOPED_TRACE(kind.name);
    const std::string cluster =
        kind.quorum ? "\n[cluster]\ntopology = \"independent\"\nnodes = [\"r1\", \"r2\", \"r3\"]\n" : "";
    std::string lock = "kind = \"" + std::string(kind.name) + "\"\n";
    if (kind.tokens) lock += "fencing = true\n";
    const RunResult run = play(file(lock, cluster), true);
    EXPECT_EQ(run.verdicts.front().outcome, Outcome::holds) << run.verdicts.front().reason;
  }
}

}  // namespace
}  // namespace holdfast::sim
