// Everybody falls apart, and clocks that jump back and forth: in whole runs, in the embedded world.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "checker/history/effects.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;

constexpr std::int64_t kSecond = 1'000'000'000;

RunResult play(const std::string& cluster, const std::string& fault, std::uint64_t seed,
               const char* hold = "1ms") {
  const std::string text = fmt::format(R"(schema = 1
name = "apart"
[run]
time = "60s"
[cluster]
{}
[lock]
kind = "reentrant"
lease = "5s"
[workload]
kind = "critical-section"
clients = 10
rounds = 3
hold = "{}"
wait = "4s"
command_timeout = "500ms"
[network]
latency = "100us..1ms"
[[fault]]
id = "it"
{}
at = "1ms"
[[expect]]
check = "lease-exclusion"
[[expect]]
check = "progress"
)",
                                       cluster, hold, fault);
  return run_once(parse_scenarios(text, "apart.toml").front(), {.seed = seed, .keep_history = true});
}

struct Granted {
  std::set<std::string> early, ever;  // before a second has passed, and at all
};

Granted granted(const RunResult& run) {
  Granted who;
  for (const Event& event : run.history.events()) {
    if (event.f != Function::acquire || event.type != EventType::ok) continue;
    const std::string process(run.history.text(event.process));
    const std::string client = process.substr(0, process.find('/'));
    if (event.time_ns < kSecond) who.early.insert(client);
    who.ever.insert(client);
  }
  return who;
}

TEST(SplitFault, SomeAreCutOffUntilItHeals) {
  for (const char* const shape : {"halves", "one-way", "ring"}) {
    std::set<std::set<std::string>> sides;
    std::size_t some = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      for (const char* const heal_by : {"resume", "reset"}) {
        const RunResult run =
            play("topology = \"single\"",
                 fmt::format("kind = \"split\"\nshape = \"{}\"\nheal_by = \"{}\"\nfor = \"1200ms\"", shape,
                             heal_by),
                 seed);
        const Granted who = granted(run);
        EXPECT_EQ(who.ever.size(), 10u) << shape << " seed " << seed;
        some += !who.early.empty() && who.early.size() < 10 ? 1 : 0;
        sides.insert(who.early);
        for (const checker::Verdict& verdict : run.verdicts)
          EXPECT_EQ(verdict.outcome, checker::Outcome::holds) << shape << " seed " << seed << verdict.reason;
      }
    }
    EXPECT_GE(some, 12u) << shape << ": of 16";
    EXPECT_GE(sides.size(), 7u) << shape << ": another seed, other sides";
  }
}

TEST(SplitFault, TheBridgeIsSeenByAll) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const RunResult run =
        play("topology = \"single\"", "kind = \"split\"\nshape = \"bridge\"\nfor = \"3s\"", seed);
    EXPECT_EQ(granted(run).early.size(), 10u) << "the only node is the bridge";
  }
}

// A primary and its replica on two sides: grants go on, and the copies wait.
TEST(SplitFault, NodesFallApartAsWell) {
  std::size_t apart = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const RunResult run =
        play("topology = \"primary-replica\"\nnodes = [\"r1\", \"r2\"]",
             "kind = \"split\"\nat = \"1ms\"\nfor = \"4s\"\n\n[[fault]]\nid = \"new\"\nkind = "
             "\"promote\"\nnode = \"r2\"\n"
             "after = { event = \"lock.granted\", nth = 1 }\n\n[[fault]]\nid = \"last\"\nkind = \"cut\"",
             seed, "1s");
    apart += run.verdicts.front().outcome == checker::Outcome::violated ? 1 : 0;
  }
  EXPECT_GT(apart, 0u) << "a grant that the new primary never heard of";
}

TEST(ClockStrobe, JumpsBackAndForthAndIsRightInTheEnd) {
  std::size_t broken = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const RunResult run =
        play("topology = \"single\"",
             "kind = \"clock-strobe\"\nnode = \"r1\"\nby = \"10s\"\nperiod = \"7ms\"\nfor = \"200ms\"", seed,
             "50ms");
    std::int64_t off = 0, jumps = 0;
    for (const Event& event : run.history.events()) {
      checker::Effect effect{};
      if (!checker::effect_of(run.history, event, effect) || effect != checker::Effect::clock_stepped)
        continue;
      EXPECT_EQ(run.history.text(event.node), "r1");
      off += event.value.number_or(0);
      EXPECT_TRUE(off == 0 || off == 10 * kSecond);
      ++jumps;
    }
    EXPECT_EQ(off, 0);
    EXPECT_GT(jumps, 20);
    broken += run.verdicts.front().outcome == checker::Outcome::violated ? 1 : 0;
  }
  EXPECT_GT(broken, 0u) << "leases end while the clock is ahead";
}

TEST(ClockStrobe, OfAClientIsBorne) {
  const RunResult run = play("topology = \"single\"",
                             "kind = \"clock-strobe\"\nclient = \"c1\"\nby = \"-1h\"\nfor = \"300ms\"", 1);
  EXPECT_EQ(run.verdicts.front().outcome, checker::Outcome::holds) << run.verdicts.front().reason;
}

TEST(ClockStrobe, APeriodThatIsNoneIsRefused) {
  EXPECT_THROW(play("topology = \"single\"",
                    "kind = \"clock-strobe\"\nnode = \"r1\"\nby = \"1s\"\nperiod = \"1us\"\nfor = \"1s\"", 1),
               BadScenario);
}

}  // namespace
}  // namespace holdfast::sim
