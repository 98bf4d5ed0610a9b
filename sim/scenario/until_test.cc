// Faults that last until something has happened, in both worlds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lib/testing/server/temporary_folder.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;
using ::testing::HasSubstr;

std::string file(const std::string& faults, const std::string& time = "20s") {
  return "schema = 1\nname = \"until\"\n[run]\nseeds = \"1\"\ntime = \"" + time +
         "\"\n[cluster]\ntopology = \"primary-replica\"\n[lock]\nkind = \"reentrant\"\nlease = \"300ms\"\n"
         "[workload]\nkind = \"critical-section\"\nclients = 3\nrounds = 15\nhold = \"5ms..20ms\"\n" +
         faults + "\n[[expect]]\ncheck = \"lease-exclusion\"\n";
}

class Until : public ::testing::TestWithParam<bool> {
 protected:
  RunResult play(const std::string& faults, const std::string& time = "20s") {
    const TemporaryFolder folder;
    return run_once(parse_scenarios(file(faults, time), "until.toml").front(),
                    {.embedded = GetParam(), .seed = 1, .folder = folder.path(), .keep_history = true});
  }
  static std::int64_t time_of(const RunResult& run, const std::string& mark) {  // -1: not reached
    for (const Event& event : run.history.events()) {
      if (event.f == Function::mark && run.history.text(event.key) == mark) return event.time_ns;
    }
    return -1;
  }
  static int grants_between(const RunResult& run, std::int64_t from_ns, std::int64_t to_ns) {
    int grants = 0;
    for (const Event& event : run.history.events()) {
      const bool grant = event.f == Function::acquire && event.type == EventType::ok;
      grants += grant && event.time_ns > from_ns && event.time_ns <= to_ns ? 1 : 0;
    }
    return grants;
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, Until, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

constexpr const char* kStop =
    "[[fault]]\nid = \"stop\"\nkind = \"pause-client\"\nclient = \"$client\"\n"
    "after = { event = \"lock.granted\", nth = 2 }\n";

// The lease of who is stopped ends, others are granted: twice, and it goes on.
TEST_P(Until, AnEventEndsIt) {
  const RunResult run =
      play(std::string(kStop) + "until = { event = \"lock.granted\", nth = 2, delay = \"1ms\" }\n");
  const std::int64_t begins = time_of(run, "fault.stop"), ends = time_of(run, "fault.stop.healed");
  ASSERT_GE(begins, 0);
  ASSERT_GT(ends, begins);
  EXPECT_GE(grants_between(run, begins, ends), 2);
  EXPECT_LE(grants_between(run, begins, ends), GetParam() ? 2 : 4);
  EXPECT_EQ(run.grants, 45u);
  EXPECT_FALSE(run.capped);
}

TEST_P(Until, AnotherFaultEndsIt) {
  const RunResult run = play(std::string(kStop) +
                             "until = { fault = \"cut\", delay = \"100ms\" }\n"
                             "[[fault]]\nid = \"cut\"\nkind = \"cut\"\n"
                             "after = { fault = \"stop\", delay = \"700ms\" }\n");
  ASSERT_GE(time_of(run, "fault.stop"), 0);
  EXPECT_GE(time_of(run, "fault.stop.healed") - time_of(run, "fault.stop"), 800'000'000);
  EXPECT_FALSE(run.capped);
}

TEST_P(Until, WhatNeverComesLeavesItToTheEndOfTheRun) {
  const RunResult run = play(std::string(kStop) + "until = { event = \"client.crashed\" }\n", "2s");
  EXPECT_GE(time_of(run, "fault.stop"), 0);
  EXPECT_EQ(time_of(run, "fault.stop.healed"), -1);
  EXPECT_TRUE(run.capped);
}

std::string problem(const std::string& fault) {
  try {
    parse_scenarios(file(fault), "f.toml");
  } catch (const BadScenario& error) {
    return error.what();
  }
  return "no problem";
}

TEST(UntilFile, WhatCannotBeIsRefused) {
  const std::string stop = kStop;
  EXPECT_EQ(problem(stop + "until = { event = \"read\", client = \"c2\", nth = 3 }\n"), "no problem");
  EXPECT_THAT(problem(stop), HasSubstr("has no `for`"));
  EXPECT_THAT(problem(stop + "for = \"1s\"\nuntil = { event = \"read\" }\n"),
              HasSubstr("f.toml:22:9: `until` beside `for`"));
  EXPECT_THAT(problem(stop + "until = { message = \"GET\" }\n"), HasSubstr("unknown key `message`"));
  EXPECT_THAT(problem(stop + "until = { delay = \"1s\" }\n"),
              HasSubstr("`until` names 0 of them, expected exactly one of `event` and `fault`"));
  EXPECT_THAT(problem(stop + "until = { event = \"lock.grantd\" }\n"),
              HasSubstr("did you mean `lock.granted`"));
  EXPECT_THAT(problem(stop + "until = { fault = \"stop\" }\n"), HasSubstr("lasts until it begins itself"));
  EXPECT_THAT(
      problem(stop + "until = { fault = \"cut\" }\n[[fault]]\nid = \"cut\"\nkind = \"cut\"\nenabled = "
                     "false\nat = \"1s\"\n"),
      HasSubstr("lasts until fault `cut`, which is not enabled"));
  EXPECT_THAT(problem("[[fault]]\nid = \"x\"\nkind = \"client-pause\"\nnode = \"r1\"\nat = \"1s\"\n"
                      "until = { event = \"read\" }\n"),
              HasSubstr("knows from its start how long it lasts, expected `for`"));
}

}  // namespace
}  // namespace holdfast::sim
