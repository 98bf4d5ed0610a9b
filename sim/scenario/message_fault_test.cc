// Faults that a message sets off or that wait for one, as a scenario plays them, on both kinds of servers:
// what the marks mean, and faults that take their time while the message waits.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/testing/server/temporary_folder.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

constexpr const char* kHead = R"(schema = 1
name   = "messages"
about  = "faults and messages"

[run]
seeds = "1"
time  = "20s"

[lock]
kind  = "reentrant"
lease = "2s"

[workload]
kind    = "seckill"
clients = 2
stock   = 6
think   = "5ms..20ms"

[[expect]]
check = "progress"
)";

constexpr const char* kSingle = "[cluster]\ntopology = \"single\"\n";
constexpr const char* kDurable = "[cluster]\ntopology = \"single\"\npersistence = \"aof-always\"\n";
constexpr const char* kPair = "[cluster]\ntopology = \"primary-replica\"\nnodes = [\"r1\", \"r2\"]\n";

class MessageFaults : public ::testing::TestWithParam<bool> {
 protected:
  // One run of seed 1 with these faults.
  RunResult play(const std::string& cluster, const std::string& faults) {
    const TemporaryFolder folder;
    const auto scenarios = parse_scenarios(std::string(kHead) + cluster + faults, "messages.toml");
    return run_once(scenarios.front(),
                    {.embedded = GetParam(), .seed = 1, .folder = folder.path(), .keep_history = true});
  }

  static std::vector<std::string> marks(const RunResult& run) {
    std::vector<std::string> names;
    for (const checker::Event& event : run.history.events()) {
      if (event.f == checker::Function::mark) names.emplace_back(run.history.text(event.key));
    }
    return names;
  }
  static bool reached(const RunResult& run, const std::string& mark) {
    const auto all = marks(run);
    return std::find(all.begin(), all.end(), mark) != all.end();
  }
  static std::string text(const RunResult& run) {
    std::string all;
    for (const std::string& mark : marks(run)) all += mark + " ";
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, MessageFaults, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

// --- what a mark means ------------------------------------------------------------------------------------

TEST_P(MessageFaults, AFaultThatMetItsMessageIsReached) {
  const RunResult run = play(kSingle, R"(
[[fault]]
id      = "lose"
kind    = "reset-after-request"
command = "EVALSHA"
nth     = 3
at      = "0s"

[[fault]]
id    = "cut"
kind  = "cut"
and   = "r1"
after = { event = "lock.granted", nth = 2 }

[[fault]]
id    = "refuse"
kind  = "refuse"
node  = "r1"
after = { event = "lock.granted", nth = 4 }
for   = "50ms"
)");
  for (const char* mark : {"fault.lose", "fault.cut", "fault.refuse", "sold-out"}) {
    EXPECT_TRUE(reached(run, mark)) << mark << " is not among " << text(run);
  }
}

TEST_P(MessageFaults, AFaultThatNeverMetItsMessageIsNotReached) {
  const RunResult run = play(kSingle, R"(
[[fault]]
id      = "lose"
kind    = "reset-after-request"
command = "EVALSHA"
nth     = 100000
at      = "0s"

[[fault]]
id      = "other"
kind    = "reset-mid-reply"
command = "ZRANGE"
after   = { event = "lock.granted", nth = 1 }
for     = "10ms"

[[fault]]
id   = "drop"
kind = "drop-message"
channel = "nobody's"
at   = "0s"

# No client is connected yet.
[[fault]]
id   = "cut"
kind = "cut"
and  = "r1"
at   = "0s"

[[fault]]
id   = "refuse"
kind = "refuse"
node = "r1"
from = "c2"
keep = true
after = { event = "lock.granted", nth = 4 }
for  = "1ms"
)");
  for (const char* mark : {"fault.lose", "fault.other", "fault.drop", "fault.cut", "fault.refuse"}) {
    EXPECT_FALSE(reached(run, mark)) << mark << " is among " << text(run);
  }
  EXPECT_TRUE(reached(run, "fault.other.healed")) << "it was there: " << text(run);
  EXPECT_TRUE(reached(run, "sold-out")) << text(run);
}

// --- faults that take their time while a message waits ----------------------------------------------------

TEST_P(MessageFaults, AServerRestartsWhileARequestWaits) {
  for (const char* phase : {"request", "reply"}) {
    const RunResult run = play(kDurable, std::string(R"(
[[fault]]
id    = "again"
kind  = "restart"
node  = "r1"
after = { message = "EVALSHA", nth = 3, phase = ")") +
                                             phase + "\" }\n");
    for (const char* mark : {"fault.again", "granted-after-restart", "sold-out"}) {
      EXPECT_TRUE(reached(run, mark)) << phase << ": " << mark << " is not among " << text(run);
    }
    EXPECT_EQ(figure(run.figures, "oversold"), 0);
    EXPECT_EQ(run.verdicts.front().outcome, checker::Outcome::holds) << phase;
  }
}

TEST_P(MessageFaults, AServerDiesAtAMessageAndComesBack) {
  for (const char* phase : {"request", "reply"}) {
    const RunResult run = play(kDurable, std::string(R"(
[[fault]]
id    = "kill"
kind  = "crash"
node  = "r1"
for   = "50ms"
after = { message = "EVALSHA", client = "c1", nth = 2, phase = ")") +
                                             phase + "\" }\n");
    for (const char* mark : {"fault.kill", "fault.kill.healed", "granted-after-restart", "sold-out"}) {
      EXPECT_TRUE(reached(run, mark)) << phase << ": " << mark << " is not among " << text(run);
    }
    EXPECT_EQ(figure(run.figures, "oversold"), 0);
  }
}

// The very question who is primary makes the replica one: it must not be answered before that.
TEST_P(MessageFaults, AReplicaIsPromotedWhileTheQuestionForItsRoleWaits) {
  const RunResult run = play(kPair, R"(
[[fault]]
id    = "kill"
kind  = "crash"
node  = "r1"
after = { message = "EVALSHA", nth = 4, phase = "reply" }

[[fault]]
id    = "promote"
kind  = "promote"
node  = "r2"
after = { message = "ROLE", node = "r2", phase = "request" }
)");
  for (const char* mark : {"fault.kill", "fault.promote", "granted-after-promotion", "sold-out"}) {
    EXPECT_TRUE(reached(run, mark)) << mark << " is not among " << text(run);
  }
}

// A server that is dead is neither promoted nor demoted: the run goes on, and the history tells no effect.
TEST_P(MessageFaults, ADeadServerKeepsItsRole) {
  for (const std::string fault : {"promote", "demote"}) {
    const std::string of = fault == "demote" ? "primary = \"r1\"\n" : "";
    const auto run = play(kPair, R"(
[[fault]]
id    = "kill"
kind  = "crash"
node  = "r2"
at    = "0s"

[[fault]]
id    = "change"
node  = "r2"
after = { message = "EVALSHA", nth = 2 }
kind  = ")" + fault + "\"\n" + of);
    EXPECT_FALSE(reached(run, "fault.change")) << text(run);
    int acts = 0, effects = 0;
    for (const checker::Event& event : run.history.events()) {
      acts += event.f == checker::Function::fault && run.history.text(event.key) == "change" ? 1 : 0;
      effects += event.f == checker::Function::effect && run.history.text(event.key) == "change" ? 1 : 0;
    }
    EXPECT_EQ(acts, 1) << fault;
    EXPECT_EQ(effects, 0) << fault;
  }
}

// At time 0 no client has started: what is to happen to it happens to nobody, and is not reached.
TEST_P(MessageFaults, WhoMeetsNobodyIsNotReached) {
  const auto run = play(kSingle, R"(
[[fault]]
id     = "early"
kind   = "pause-client"
client = "c1"
at     = "0s"
for    = "5ms"

[[fault]]
id     = "kill-early"
kind   = "crash"
client = "c2"
at     = "0s"

[[fault]]
id     = "step-early"
kind   = "clock-step"
client = "c2"
by     = "1s"
at     = "0s"

[[fault]]
id      = "slow"
kind    = "delay"
between = "c1"
delay   = "2ms"
at      = "0s"
for     = "1s"

[[fault]]
id     = "pause"
kind   = "pause-client"
client = "c1"
after  = { event = "lock.granted", nth = 1, client = "c1" }
for    = "5ms"
)");
  for (const char* mark : {"fault.early", "fault.kill-early", "fault.step-early"}) {
    EXPECT_FALSE(reached(run, mark)) << mark << " is among " << text(run);
  }
  for (const char* mark : {"fault.slow", "fault.pause"}) {
    EXPECT_TRUE(reached(run, mark)) << mark << " is not among " << text(run);
  }
}

}  // namespace
}  // namespace holdfast::sim
