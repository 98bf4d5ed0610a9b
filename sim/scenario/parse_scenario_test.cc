#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "lib/testing/folders.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/client/lock_kind.h"
#include "sim/client/no_lock.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

const std::string kGood = R"(schema = 1
name   = "story"
about  = "a story"

[run]
seeds = "1..20"
time  = "10s"

[cluster]
topology = "primary-replica"
nodes    = ["r1", "r2"]

[lock]
kind  = "reentrant"
lease = "5s"

[workload]
kind    = "seckill"
clients = 3
stock   = 10
think   = "200ms..900ms"

[network]
latency = "200us..2ms"

[[fault]]
id   = "lag"
kind = "replication-lag"
node = "r2"
at   = "0s"
for  = "6s"

[[fault]]
id    = "kill"
kind  = "crash"
node  = "r1"
after = { event = "lock.granted", nth = 1, delay = "0ms..5ms" }

[[fault]]
id    = "promote"
kind  = "promote"
node  = "r2"
after = { fault = "kill", delay = "100ms" }

[[expect]]
check = "lease-exclusion"
is    = "violated"
seeds = ">= 90%"

[[expect]]
check = "reached"
marks = ["fault.kill", "granted-after-promotion"]

[[variant]]
name   = "control"
set    = { "fault.kill.enabled" = false, fault.promote.enabled = false, "workload.write" = "compare-and-set" }
expect = [{ check = "oversell" }]
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The complaint about `text`.
std::string problem(const std::string& text) {
  try {
    parse_scenarios(text, "f.toml");
  } catch (const BadScenario& error) {
    return error.what();
  }
  return "no problem";
}

TEST(ParseScenario, ReadsEveryPart) {
  const auto scenarios = parse_scenarios(kGood, "f.toml");
  ASSERT_EQ(scenarios.size(), 2u);
  const Scenario& base = scenarios[0];
  EXPECT_EQ(base.name, "story");
  EXPECT_EQ(base.seeds.count(), 20u);
  EXPECT_EQ(base.time, 10s);
  EXPECT_EQ(base.cluster.topology, Topology::primary_replica);
  EXPECT_EQ(base.lock, find_lock_kind("reentrant"));
  EXPECT_EQ(base.workload.lease, 5s);
  EXPECT_EQ(base.workload.clients, 3);
  EXPECT_EQ(base.workload.think.high, 900ms);
  EXPECT_EQ(base.latency.low, 200us);
  ASSERT_EQ(base.faults.size(), 3u);
  EXPECT_EQ(base.faults[0].lasts->low, 6s);
  EXPECT_EQ(base.faults[1].trigger.kind, Trigger::Kind::event);
  EXPECT_EQ(base.faults[1].trigger.delay.high, 5ms);
  EXPECT_EQ(base.faults[2].trigger.fault, "kill");
  ASSERT_EQ(base.expectations.size(), 2u);
  EXPECT_TRUE(base.expectations[0].violated);
  EXPECT_EQ(base.expectations[0].at.line, 45);
}

TEST(ParseScenario, OneVariantForEachLock) {
  const std::string both = R"(
[[variant]]
locks  = ["lock-interface", "reentrant"]
expect = [{ check = "progress" }]

[[variant]]
name  = "slow"
about = "with a long lease"
locks = ["lock-interface"]
set   = { "lock.lease" = "9s" }
)";
  const auto scenarios = parse_scenarios(kGood + both, "f.toml");
  ASSERT_EQ(scenarios.size(), 5u);
  EXPECT_EQ(scenarios[2].title(), "story/lock-interface");
  EXPECT_EQ(scenarios[2].workload.lock, "lock-interface");
  EXPECT_EQ(scenarios[2].expectations.size(), 1u);
  EXPECT_EQ(scenarios[3].title(), "story/reentrant");
  EXPECT_EQ(scenarios[3].lock, find_lock_kind("reentrant"));
  EXPECT_EQ(scenarios[4].title(), "story/slow-lock-interface");
  EXPECT_EQ(scenarios[4].about, "with a long lease");
  EXPECT_EQ(scenarios[4].workload.lease, 9s);
  EXPECT_EQ(scenarios[4].expectations.size(), 2u);  // the base's
}

TEST(ParseScenario, AVariantMayUnsetKeys) {
  const std::string latch = R"(
[[variant]]
locks  = ["count-down-latch"]
set    = { "workload.kind" = "count-down", "workload.count" = 3, "workload.rounds" = 2 }
unset  = ["workload.stock", "fault.kill.node"]
expect = [{ check = "latch" }]
)";
  EXPECT_EQ(problem(kGood + latch),
            "f.toml:33:1: fault `kill` (crash): expected exactly one of `node` and `client` (in the variant "
            "`count-down-latch`)");
  std::string right = latch;
  right.replace(right.find(", \"fault.kill.node\""), 19, "");
  const Scenario counted = parse_scenarios(kGood + right, "f.toml")[2];
  EXPECT_EQ(counted.workload.kind, "count-down");
  EXPECT_EQ(get_or(counted.workload.own, "count", std::int64_t{0}), 3);
  EXPECT_EQ(get_or(counted.workload.own, "rounds", std::int64_t{0}), 2);
}

TEST(ParseScenario, ReadsWhatTheLockIsAsked) {
  const Scenario asked = parse_scenarios(with("lease = \"5s\"",
                                              "replicas = 1\nreplica_timeout = \"40ms\"\n"
                                              "max_renewals = 2\novertakes = 3"),
                                         "f.toml")[0];
  EXPECT_EQ(asked.workload.replicas, 1);
  EXPECT_EQ(asked.workload.replica_timeout, 40ms);
  EXPECT_EQ(asked.workload.max_renewals, 2);
  EXPECT_EQ(asked.overtakes, 3);
  EXPECT_FALSE(asked.workload.fencing);
}

TEST(ParseScenario, ReadsWhoTheMembersAre) {
  const Scenario asked =
      parse_scenarios(with("kind  = \"reentrant\"", "kind = \"survivor\"\nmembers = [\"r1\"]"), "f.toml")[0];
  EXPECT_EQ(asked.workload.members, std::vector<std::string>{"r1"});
  EXPECT_TRUE(parse_scenarios(kGood, "f.toml")[0].workload.members.empty());
}

// A published design has the expiry that it was published with; whoever names one gets that.
TEST(ParseScenario, TheLeaseThatAKindWasPublishedWith) {
  std::string text = kGood;
  text.replace(text.find("lease = \"5s\"\n"), 13, "");
  text += R"(
[[variant]]
locks = ["spring-registry", "annotation", "annotation-renewing", "lock-interface", "redisson-3.13-fair"]
)";
  text += "[[variant]]\nname = \"named\"\nlocks = [\"annotation\"]\nset = { \"lock.lease\" = \"7s\" }\n";
  std::map<std::string, Duration> leases;
  for (const Scenario& scenario : parse_scenarios(text, "f.toml")) {
    leases[scenario.variant] = scenario.workload.lease;
  }
  EXPECT_EQ(leases.at(""), 30s);
  EXPECT_EQ(leases.at("spring-registry"), 60s);
  EXPECT_EQ(leases.at("annotation"), 60s);
  EXPECT_EQ(leases.at("annotation-renewing"), 60s);
  EXPECT_EQ(leases.at("lock-interface"), 30s);
  EXPECT_EQ(leases.at("redisson-3.13-fair"), 30s);
  EXPECT_EQ(leases.at("named-annotation"), 7s);
}

TEST(ParseScenario, TheWaitTimeoutOfAKindThatHasOne) {
  std::string text = kGood;
  EXPECT_EQ(parse_scenarios(text, "f.toml")[0].workload.wait_timeout, std::nullopt);
  text.replace(text.find("\"reentrant\""), 11, "\"annotation\"\nwait_timeout = \"250ms\"");
  EXPECT_EQ(parse_scenarios(text, "f.toml")[0].workload.wait_timeout, Duration(250ms));
}

TEST(ParseScenario, ReadsWhatHappensToThreadsAndObjects) {
  const Scenario asked =
      parse_scenarios(with("stock   = 10", "interrupts = \"30%\"\nevict = \"20ms\""), "f.toml")[0];
  EXPECT_EQ(asked.workload.interrupts, 30);
  EXPECT_EQ(asked.workload.evict, 20ms);
}

TEST(ParseScenario, VariantsReplaceValuesAndExpectations) {
  const Scenario control = parse_scenarios(kGood, "f.toml")[1];
  EXPECT_EQ(control.title(), "story/control");
  EXPECT_TRUE(control.faults[0].enabled);
  EXPECT_FALSE(control.faults[1].enabled);
  EXPECT_FALSE(control.faults[2].enabled);  // dotted keys mean the same as quoted paths
  EXPECT_EQ(get_or(control.workload.own, "write", std::string()), "compare-and-set");
  ASSERT_EQ(control.expectations.size(), 1u);
  EXPECT_EQ(control.expectations[0].check, "oversell");
}

TEST(ParseScenario, ComplaintsNameLineColumnExpectationAndSuggestion) {
  const struct {
    std::string text, complaint;
  } cases[] = {
      {with("lease = \"5s\"", "laese = \"5s\""), "f.toml:15:1: unknown key `laese` in [lock], expected"},
      {with("lease = \"5s\"", "laese = \"5s\""), "did you mean `lease`?"},
      {with("lease = \"5s\"", "permits = 3"),
       "f.toml:15:11: `permits`: the lock `reentrant` counts no permits, expected"},
      {with("lease = \"5s\"", "wait_timeout = \"5s\""),
       "f.toml:15:16: `wait_timeout`: the lock `reentrant` has no wait timeout of its own, expected "
       "`annotation` or `annotation-renewing`"},
      {kGood + "[[variant]]\nlocks = [\"reentrant\", \"lock-intreface\"]",
       "f.toml:59:23: `locks` names `lock-intreface`"},
      {kGood + "[[variant]]\nlocks = [\"reentrant\", \"lock-intreface\"]", "did you mean `lock-interface`?"},
      {kGood + "[[variant]]\nlocks = []", "f.toml:59:9: `locks` is empty, expected a list of kinds"},
      {kGood + "[[variant]]\nlocks = \"fair\"", "f.toml:59:9: `locks` is a string, expected a list of kinds"},
      {kGood + "[[variant]]\nlocks = [7]", "f.toml:59:10: `locks` has an integer, expected a string"},
      {kGood + "[[variant]]\nlocks = [\"reentrant\", \"reentrant\"]", "variant `reentrant` twice"},
      {kGood + "[[variant]]\nlocks = [\"reentrant\"]\nset = { lock.kind = \"fair\" }",
       "`lock.kind` is set by `locks` already"},
      {kGood + "[[variant]]\nname = \"x\"\nunset = [\"workload.stok\"]",
       "f.toml:60:9: `unset` names `workload.stok`, which is not there"},
      {kGood + "[[variant]]\nname = \"x\"\nset = { workload.kind = \"count-down\" }\nunset = "
               "[\"workload.stock\"]",
       "but the lock `reentrant` is no latch, expected another"},
      {with("kind  = \"reentrant\"", "kind = \"count-down-latch\""), "is a latch, expected `count-down`"},
      {kGood + "[[variant]]\nabout = \"nameless\"", "[[variant]] has no `name`"},
      {with("lease = \"5s\"", "permits = 0"), "f.toml:15:11: `permits` is 0, expected a whole number from 1"},
      {with("lease = \"5s\"", "members = [\"r1\"]"),
       "f.toml:15:11: `members`: the lock `reentrant` asks no members, expected"},
      {with("kind  = \"reentrant\"", "kind = \"survivor\"\nmembers = [\"r9\"]"), "`members` names `r9`"},
      {with("kind  = \"reentrant\"", "kind = \"survivor\"\nmembers = [\"r1\", \"r1\"]"),
       "`members` names `r1` twice, expected each once"},
      {with("lease = \"5s\"", "fair = true"), "f.toml:15:8: `fair`: the lock `reentrant` has no readers"},
      {with("lease = \"5s\"", "replicas = 2"),
       "f.toml:15:12: `replicas` is 2, but the cluster has 1, expected"},
      {with("lease = \"5s\"", "overtakes = -1"), "f.toml:15:13: `overtakes` is -1"},
      {with("kind  = \"reentrant\"\nlease = \"5s\"\n\n[workload]\nkind    = \"seckill\"\nclients = 3\nstock  "
            " = 10",
            "kind  = \"lock-interface\"\nlease = \"5s\"\n\n[workload]\nkind    = \"critical-section\"\ndepth "
            "  = 2"),
       "f.toml:19:11: `depth`: the lock `lock-interface` cannot be taken inside itself"},
      {with("stock   = 10", "interrupts = \"101%\""), "f.toml:20:14: `interrupts` is \"101%\""},
      {with("stock   = 10", "evict = \"0s\""), "f.toml:20:9: `evict` is zero, expected such as"},
      {with("stock   = 10", "evict = \"20ms\"")
           .replace(kGood.find("kind  = \"reentrant\""), 19, "kind = \"lock-interface\""),
       "f.toml:20:9: `evict`: the lock `lock-interface` keeps no registry of lock objects, expected"},
      {with("kind    = \"seckill\"\nclients = 3\nstock   = 10",
            "kind    = \"critical-section\"\ndepth = 2\ninner_lease = \"2s\""),
       "f.toml:20:15: `inner_lease`: an acquire of the lock `reentrant` takes no lease of its own, expected "
       "`redisson-3.13-reentrant`"},
      {with("kind  = \"reentrant\"\nlease = \"5s\"\n\n[workload]\nkind    = \"seckill\"\nclients = 3\nstock  "
            " = 10",
            "kind  = \"redisson-3.13-reentrant\"\nlease = \"5s\"\n\n[workload]\nkind    = "
            "\"critical-section\"\ninner_lease = \"2s\""),
       "f.toml:19:15: `inner_lease` without an inner acquire, expected `depth` above 1"},
      {with("kind    = \"seckill\"\nclients = 3\nstock   = 10",
            "kind    = \"critical-section\"\nthreads = 2\nbystander_lease = \"2s\""),
       "f.toml:20:19: `bystander_lease`: an acquire of the lock `reentrant` takes no lease of its own, "
       "expected "
       "`redisson-3.13-reentrant`"},
      {with("kind  = \"reentrant\"\nlease = \"5s\"\n\n[workload]\nkind    = \"seckill\"\nclients = 3\nstock  "
            " = 10",
            "kind  = \"redisson-3.13-reentrant\"\nlease = \"5s\"\n\n[workload]\nkind    = "
            "\"critical-section\"\nbystander_lease = \"2s\""),
       "f.toml:19:19: `bystander_lease` without other threads, expected `threads` above 1"},
      {with("kind    = \"seckill\"\nclients = 3\nstock   = 10",
            "kind    = \"critical-section\"\ndowngrade = true"),
       "f.toml:19:13: `downgrade`: the lock `reentrant` has no side that many may hold, expected "
       "`survivor-read-write`, `read-write` or"},
      {with("lease = \"5s\"", "on_lost = \"sell\""), "f.toml:15:11: `on_lost` is \"sell\", expected"},
      {with("stock   = 10", "release = \"never\""), "f.toml:20:11: `release` is \"never\", expected"},
      {with("stock   = 10", "writers = 1"), "f.toml:20:11: `writers`: the lock `reentrant` has no side for"},
      {with("stock   = 10", "writers = 1001"), "f.toml:20:11: `writers` is 1001"},
      {with("stock   = 10", "readers = \"60%\""),
       "f.toml:20:11: `readers`: the lock `reentrant` has no side for"},
      {with("kind  = \"reentrant\"", "kind = \"lock-interface\"\nfencing = true"),
       "f.toml:15:11: `fencing`: the lock `lock-interface` gives no tokens"},
      {with("stock   = 10", "write = \"token\"")
           .replace(kGood.find("kind  = \"reentrant\""), 19, "kind = \"lock-interface\""),
       "f.toml:20:9: `write`: the lock `lock-interface` gives no tokens"},
      {with("lease = \"5s\"", "lease = \"5sec\""),
       "f.toml:15:9: `lease` is \"5sec\", expected a duration with its unit"},
      {with("lease = \"5s\"", "lease = 5"), "f.toml:15:9: `lease` is 5, expected a duration with its unit"},
      {with("lease = \"5s\"", "lease = \"0s\""), "f.toml:15:9: `lease` is below a millisecond"},
      {with("\"reentrant\"", "\"rentrant\""), "did you mean `reentrant`?"},
      {with("kind = \"replication-lag\"", "kind = \"replication-log\""), "did you mean `replication-lag`?"},
      {with("node = \"r2\"", "node = \"r3\""), "f.toml:29:8: `node` names `r3`, expected `r1` or `r2`"},
      {with("fault = \"kill\"", "fault = \"kil\""),
       "`fault` names `kil`, expected `lag`, `kill` or `promote`, did you mean `kill`?"},
      {with("event = \"lock.granted\"", "event = \"lock.grantd\""), "did you mean `lock.granted`?"},
      {with("nth = 1", "nth = 0"), "`nth` is 0, expected a whole number from 1"},
      {with("at   = \"0s\"\n", ""),
       "f.toml:26:1: fault `lag` (replication-lag) has no trigger, expected exactly one of `at`, `every` "
       "and"},
      {with("at   = \"0s\"", "att  = \"0s\""), "f.toml:30:1: unknown key `att` in [[fault]]"},
      {with("at   = \"0s\"", "at   = \"0s\"\nevery = \"1s\""), "has more than one trigger"},
      {kGood + "[[variant]]\nname = \"x\"\nunset = [\"fault.kill.after\"]",
       "f.toml:33:1: fault `kill` (crash) has no trigger, expected exactly one of `at`, `every` and `after`, "
       "such as "
       "at = \"0s\" (in the variant `x`)"},
      {with("node  = \"r1\"", "nod   = \"r1\""), "f.toml:36:1: unknown key `nod` in [[fault]]"},
      {with("\"granted-after-promotion\"", "\"granted-after-promotoin\""),
       "did you mean `granted-after-promotion`?"},
      {with("check = \"lease-exclusion\"", "check = \"lease-exclusoin\""), "did you mean `lease-exclusion`?"},
      {with("seeds = \">= 90%\"", "seeds = \"90%\""), "`seeds` is \"90%\", expected such as \"all\""},
      {with("schema = 1", "schema = 2"), "f.toml:1:10: `schema` is 2, expected a whole number from 1 to 1"},
      {with("name   = \"story\"", "nmae   = \"story\""),
       "f.toml:2:1: unknown key `nmae` in the file, expected"},
      {with("\"fault.kill.enabled\"", "\"fault.kil.enabled\""),
       "unknown fault `kil`, expected `lag`, `kill` or `promote`, did you mean `kill`?"},
      {with("\"workload.write\"", "\"workload.wrte\""), "unknown key `wrte` in [workload]"},
      {with("id    = \"kill\"", "id    = \"lag\""), "fault `lag` twice"},
      {with("[network]", "[netwrok]"), "unknown key `netwrok` in the file"},
      {with("[workload]", "[worload]"), "f.toml:17:2: unknown key `worload` in the file, expected"},
      {with("[workload]", "[worload]"), "did you mean `workload`?"},
      {with("kind    = \"seckill\"", "knid    = \"seckill\""),
       "f.toml:18:1: unknown key `knid` in [workload], expected"},
      {with("kind  = \"reentrant\"", "kid   = \"reentrant\""),
       "f.toml:14:1: unknown key `kid` in [lock], expected"},
      {with("check = \"reached\"", "chek  = \"reached\""),
       "unknown key `chek` in [[expect]], expected `check`"},
      {with("kind    = \"seckill\"", "kind    = \"sekill\""), "did you mean `seckill`?"},
      {with("stock   = 10", "depth   = 10"), "f.toml:20:1: unknown key `depth` in [workload], expected"},
      {with("seeds = \">= 90%\"", "kind  = \"doubl-grant\""),
       "f.toml:48:9: `kind` is \"doubl-grant\", but a violation of `lease-exclusion` is never of that kind, "
       "expected "
       "`double-grant`, did you mean `double-grant`?"},
      {with("seeds = \">= 90%\"", "kind  = \"overrun\""), "is never of that kind, expected `double-grant`"},
      {with("check = \"lease-exclusion\"", "check = \"latch\""),
       "f.toml:46:9: the check `latch` is about the workload `count-down`, but this one is `seckill`, "
       "expected"},
      {with("[network]", "[network"), "not valid TOML"},
      // Headers that the TOML library would end the program for.
      {"[ = 1", "f.toml:1:3: not valid TOML"},
      {"[ ,]", "f.toml:1:3: not valid TOML"},
      {"[ #", "f.toml:1:3: not valid TOML"},
      {"[\v", "f.toml:1:2: not valid TOML"},
      {"a = 1\n[[ = 1", "f.toml:2:4: not valid TOML"},
      {"[ . ]", "f.toml:1:3: not valid TOML"},
      {"a = 1979-05-27T:7", "f.toml:1:16: not valid TOML"},
      // Characters for which it had undefined behaviour: the sanitizer of that tells.
      {"schema = 1\u01A8", "f.toml:1:11: not valid TOML"},
      {"schema = 1 \u2C5F", "f.toml:1:12: not valid TOML"},
      {"schema\u1C66 = 1", "f.toml:1:7: not valid TOML"},
      {with("time  = \"10s\"", "time  = \"0s\""), "`time` is zero"},
      {std::string("\x00\xff\x13garbage\x80", 11), "f.toml:1:1: not valid TOML"},
      {"", "the file has no `schema`"},
  };
  for (const auto& [text, complaint] : cases) {
    EXPECT_NE(problem(text).find(complaint), std::string::npos)
        << "wanted: " << complaint << "\ngot:    " << problem(text);
  }
}

TEST(ParseScenario, FaultsThatMustEndNeedFor) {
  for (const FaultKind& kind : all_fault_kinds()) {
    if (!kind.must_end) continue;
    const std::string text = with("kind = \"replication-lag\"\nnode = \"r2\"\nat   = \"0s\"\nfor  = \"6s\"",
                                  "kind = \"" + std::string(kind.name) + "\"\nat   = \"0s\"");
    EXPECT_NE(problem(text).find("has no `for`"), std::string::npos) << kind.name << ": " << problem(text);
  }
}

// Each of these would run, and in silence never do what it says.
TEST(ParseScenario, WhatCouldNeverHappenIsRefused) {
  const struct {
    std::string text, complaint;
  } cases[] = {
      {with("for  = \"6s\"\n", "").replace(kGood.find("at   = \"0s\""), 11, "every = \"1s\""),
       "f.toml:30:9: `every` without `for`: fault `lag` (replication-lag) would act once"},
      {with("for  = \"6s\"", "for  = \"0s\""), "f.toml:31:8: `for` is zero"},
      {with("at   = \"0s\"", "at   = \"10s\""),
       "f.toml:30:8: `at` is 10s, but the run ends at 10s ([run] time)"},
      {with("fault = \"kill\"", "fault = \"promote\""),
       "f.toml:43:19: fault `promote` waits for itself to act"},
      {with("event = \"lock.granted\", nth = 1", "fault = \"promote\""),
       "f.toml:37:19: fault `kill` waits for itself to act"},
      {with("fault = \"kill\", delay", "fault = \"kill\", nth = 2, delay"),
       "f.toml:43:33: `nth` goes with `event` and `message` only"},
      {with("nth = 1", "phase = \"reply\""), "`phase` goes with `message` only"},
      {with("event = \"lock.granted\"", "event = \"sell\", node = \"r1\""),
       "`node`: the event `sell` happens at no node"},
      {kGood + "[[variant]]\nname = \"x\"\nset = { fault.kill.enabled = false }",
       "f.toml:43:19: fault `promote` waits for fault `kill`, which is not enabled, expected one that is; "
       "set enabled "
       "= false for both (in the variant `x`)"},
      {with("kind  = \"crash\"", "kind  = \"crash\"\nduring = \"promote\""),
       "f.toml:36:10: `during` names fault `promote` (promote), which is over as soon as it acted"},
      {with("kind  = \"crash\"", "kind  = \"crash\"\nduring = \"kill\""),
       "fault `kill` acts only while it acts itself"},
      {with("after = { event = \"lock.granted\", nth = 1, delay = \"0ms..5ms\" }",
            "at = \"7s\"\nduring = \"lag\""),
       "f.toml:38:10: `during` names fault `lag`, which is over by then"},
      {with("stock   = 10", "command_timeout = \"0s\""), "f.toml:20:19: `command_timeout` is zero"},
  };
  for (const auto& [text, complaint] : cases) {
    EXPECT_NE(problem(text).find(complaint), std::string::npos)
        << "wanted: " << complaint << "\ngot:    " << problem(text);
  }
}

TEST(ParseScenario, FilesThatCannotBeRead) {
  EXPECT_THROW(read_scenarios("no/such/file.toml"), BadScenario);
  EXPECT_THROW(read_scenarios("/"), BadScenario);
}

// Programs run in the real world only.
TEST(ParseScenario, EveryShippedFileIsValidInTheEmbeddedWorld) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(holdfast::testing::source_path("scenarios"))) {
    if (entry.path().extension() != ".toml") continue;
    ++files;
    const std::string folder = entry.path().parent_path().filename();
    const bool programs = folder == "external" || folder == "comparators";
    for (const Scenario& scenario : read_scenarios(entry.path().string())) require_world(scenario, !programs);
  }
  EXPECT_GE(files, 6);
}

std::string written(const TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder.path() + "/f.toml";
  std::ofstream(path) << text;
  return path;
}

TEST(ReadScenario, SettingsStandInTheFileLast) {
  const TemporaryFolder folder;
  const std::string path = written(
      folder,
      kGood +
          "[[variant]]\nname = \"cas\"\nset = { workload.write = \"compare-and-set\", workload.stock = 7 }");
  const std::vector<Override> settings = {{"lock.kind", "redlock"},
                                          {"workload.clients", std::int64_t{12}},
                                          {"workload.stock", std::int64_t{4}},
                                          {"cluster.topology", "independent"},
                                          {"cluster.nodes", std::vector<std::string>{"r1", "r2", "r3"}}};
  const Scenario scenario = read_scenario(path, "cas", settings);
  EXPECT_EQ(scenario.lock->name, "redlock");
  EXPECT_EQ(scenario.workload.clients, 12);
  EXPECT_EQ(get_or(scenario.workload.own, "stock", std::int64_t{0}), 4);
  EXPECT_EQ(get_or(scenario.workload.own, "write", std::string()), "compare-and-set");
  EXPECT_EQ(scenario.cluster.nodes.size(), 3u);
  EXPECT_EQ(scenario.variant, "cas");
  EXPECT_EQ(get_or(read_scenario(path, "", {}).workload.own, "write", std::string("blind")), "blind");
}

TEST(ReadScenario, WhatASettingBreaksIsSaidAsOfAFile) {
  const TemporaryFolder folder;
  const std::string path =
      written(folder, kGood + "[[variant]]\nname = \"cas\"\nset = { workload.write = \"token\" }");
  for (const auto& [variant, setting, said] : std::vector<std::tuple<std::string, Override, std::string>>{
           {"cas", {"lock.kind", "lock-interface"}, "the lock `lock-interface` gives no tokens"},
           {"", {"lock.kind", "renetrant"}, "did you mean `reentrant`?"},
           {"", {"fault.lagg.for", "1s"}, "did you mean `lag`?"},
           {"cass",
            {"lock.kind", "fair"},
            "no variant `cass`, expected `control` or `cas`, did you mean `cas`?"}}) {
    try {
      read_scenario(path, variant, {setting});
      ADD_FAILURE() << said;
    } catch (const BadScenario& error) {
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  }
}

TEST(ReadScenario, NoLockIsAKindThatFilesMayName) {
  std::string text = kGood;
  text.replace(text.find("\"reentrant\""), 11, "\"no-lock\"");
  const Scenario scenario = parse_scenarios(text, "f.toml").front();
  EXPECT_EQ(scenario.lock, &no_lock_kind());
  EXPECT_EQ(scenario.workload.own_lock, &no_lock_kind());
}

}  // namespace
}  // namespace holdfast::sim
