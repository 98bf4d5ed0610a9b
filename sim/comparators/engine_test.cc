// What a scenario may say of an engine other than Redis, and what is said where it may not.
#include "sim/comparators/engine.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

struct Parts {
  std::string cluster = "engine = \"postgresql\"\n";
  std::string lock = "kind = \"pg-advisory\"\n";
  std::string rest = "[[expect]]\ncheck = \"mutual-exclusion\"\n";
};

std::vector<Scenario> parse(const Parts& parts) {
  return parse_scenarios("schema = 1\nname = \"one\"\n[cluster]\n" + parts.cluster + "[lock]\n" + parts.lock +
                             "[workload]\nkind = \"critical-section\"\n" + parts.rest,
                         "f.toml");
}

std::string problem_of(const Parts& parts) {
  try {
    parse(parts);
    return "";
  } catch (const BadScenario& problem) {
    return problem.what();
  }
}

TEST(Engine, HasLocksThatNobodyElseHas) {
  std::set<std::string_view> names = {"no-lock", "external"};
  for (const LockKind& kind : all_lock_kinds()) names.insert(kind.name);
  for (const Engine& engine : all_engines()) {
    EXPECT_EQ(find_engine(engine.name), &engine);
    EXPECT_FALSE(engine.locks.empty()) << engine.name;
    for (const LockKind& lock : engine.locks) {
      EXPECT_EQ(lock.engine, engine.name) << lock.name;
      EXPECT_TRUE(names.insert(lock.name).second) << lock.name;
      EXPECT_EQ(find_comparator(lock.name), &lock);
      EXPECT_EQ(find_lock_kind(lock.name), nullptr) << "in the embedded world: " << lock.name;
      EXPECT_TRUE(lock.make || !engine.missing().empty()) << lock.name;
    }
    if (!engine.missing().empty()) {
      EXPECT_NE(engine.missing().find("tools/setup/setup --comparisons"), std::string::npos);
      EXPECT_EQ(engine.missing().find('\n'), std::string::npos);
    }
  }
}

TEST(Engine, AScenarioNamesIt) {
  const Scenario scenario = parse({}).front();
  EXPECT_EQ(scenario.cluster.engine, "postgresql");
  EXPECT_EQ(scenario.lock, find_comparator("pg-advisory"));
  EXPECT_EQ(scenario.workload.lease, Duration::zero());
  EXPECT_NO_THROW(require_world(scenario, false));
}

TEST(Engine, TheEmbeddedWorldHasNone) {
  try {
    require_world(parse({}).front(), true);
    FAIL();
  } catch (const BadScenario& problem) {
    EXPECT_NE(std::string(problem.what()).find("the embedded world has no `postgresql`"), std::string::npos);
    EXPECT_NE(std::string(problem.what()).find("--world real"), std::string::npos);
  }
}

TEST(Engine, WhatDoesNotGoTogetherIsSaid) {
  const std::pair<Parts, const char*> kCases[] = {
      {{.cluster = ""}, "the lock `pg-advisory` needs engine = \"postgresql\""},
      {{.lock = "kind = \"reentrant\"\n"}, "the lock `reentrant` needs engine = \"redis\""},
      {{.cluster = "engine = \"postgres\"\n"}, "postgresql"},
      {{.cluster = "engine = \"postgresql\"\ntopology = \"sentinel\"\n"}, "postgresql has no such one"},
      {{.cluster = "engine = \"postgresql\"\ntls = true\n"}, "`tls` goes with Redis only"},
      {{.cluster = "engine = \"postgresql\"\npersistence = \"rdb\"\n"}, "`persistence` goes with Redis only"},
      {{.cluster = "engine = \"postgresql\"\nsettings = { synchronous_comit = \"on\" }\n"}, "did you mean"},
      {{.lock = "kind = \"pg-row\"\nlease = \"5s\"\n"}, "the lock `pg-row` has none"},
      {{.rest = "[[fault]]\nid = \"f\"\nkind = \"memory-full\"\nnode = \"r1\"\nat = \"1s\"\nfor = \"1s\"\n"},
       "is one of Redis"},
      {{.rest = "[[fault]]\nid = \"f\"\nkind = \"crash\"\nnode = \"r1\"\nafter = { message = \"GET\" }\n"},
       "waits for a message of Redis"},
      {{.rest = "[[expect]]\ncheck = \"at-rest\"\n"}, "looks into servers of Redis"},
  };
  for (const auto& [parts, said] : kCases) {
    EXPECT_NE(problem_of(parts).find(said), std::string::npos) << said << ": " << problem_of(parts);
  }
}

TEST(Engine, AnEnsembleIsOfEnginesThatVote) {
  const std::string etcd = "engine = \"etcd\"\n", ensemble = "topology = \"ensemble\"\n";
  const std::string lock = "kind = \"etcd-lock\"\n";
  const Scenario scenario = parse({.cluster = etcd + ensemble, .lock = lock}).front();
  EXPECT_EQ(scenario.cluster.topology, Topology::ensemble);
  EXPECT_EQ(scenario.cluster.nodes, (std::vector<std::string>{"r1", "r2", "r3"}));
  EXPECT_EQ(parse({.cluster = etcd, .lock = lock}).front().cluster.topology, Topology::single);
  const std::pair<Parts, const char*> kCases[] = {
      {{.cluster = ensemble, .lock = "kind = \"reentrant\"\n"}, "redis has no ensemble"},
      {{.cluster = "engine = \"postgresql\"\n" + ensemble}, "expected `single` or `primary-replica`"},
      {{.cluster = etcd + ensemble + "nodes = [\"r1\", \"r2\"]\n", .lock = lock}, "expected 3 to 16"},
      {{.cluster = etcd + "topology = \"primary-replica\"\n", .lock = lock},
       "expected `single` or `ensemble`"},
      {{.cluster = "engine = \"zookeeper\"\n", .lock = "kind = \"zk-recipe\"\nlease = \"5s\"\n"},
       "the lock `zk-recipe` has none"},
      {{.cluster = "engine = \"zookeeper\"\nsettings = { maxSesionTimeout = 1 }\n",
        .lock = "kind = \"zk-recipe\"\n"},
       "did you mean `maxSessionTimeout`"},
      {{.cluster = etcd, .lock = lock + "lease = \"1500ms\"\n"}, "counts in 1s, expected"},
      {{.cluster = etcd + ensemble,
        .lock = lock,
        .rest = "[[fault]]\nid = \"f\"\nkind = \"promote\"\nnode = \"r2\"\nat = \"1s\"\n"},
       "gives a node another role"},
  };
  for (const auto& [parts, said] : kCases) {
    EXPECT_NE(problem_of(parts).find(said), std::string::npos) << said << ": " << problem_of(parts);
  }
}

TEST(Engine, EachFaultThatItSharesIsTaken) {
  const std::string rest = "[[expect]]\ncheck = \"mutual-exclusion\"\n";
  EXPECT_EQ(
      problem_of({.rest = "[[fault]]\nid = \"f\"\nkind = \"pause-server\"\nnode = \"r1\"\nat = \"1s\"\nfor = "
                          "\"1s\"\n" +
                          rest}),
      "");
  EXPECT_EQ(
      problem_of({.cluster = "engine = \"postgresql\"\ntopology = \"primary-replica\"\n",
                  .rest = "[[fault]]\nid = \"f\"\nkind = \"promote\"\nnode = \"r2\"\nat = \"1s\"\n" + rest}),
      "");
  EXPECT_EQ(problem_of({.lock = "kind = \"pg-table\"\nlease = \"2s\"\n"}), "");
}

}  // namespace
}  // namespace holdfast::sim
