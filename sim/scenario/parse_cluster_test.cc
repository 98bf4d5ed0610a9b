// The table [cluster]: Sentinels, Redis Cluster, and settings of the servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/scenario/scenario.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string file(const std::string& cluster, const std::string& more = "") {
  return "schema = 1\nname = \"story\"\n[cluster]\n" + cluster +
         "\n[lock]\nkind = \"reentrant\"\n[workload]\nkind = \"seckill\"\nclients = 2\n" + more +
         "\n[[expect]]\ncheck = \"oversell\"\n";
}

std::string problem(const std::string& text) {
  try {
    parse_scenarios(text, "f.toml");
  } catch (const BadScenario& error) {
    return error.what();
  }
  return "no problem";
}

std::string world_problem(const std::string& text, bool embedded) {
  try {
    require_world(parse_scenarios(text, "f.toml").front(), embedded);
  } catch (const BadScenario& error) {
    return error.what();
  }
  return "no problem";
}

const std::string kSentinel = "topology = \"sentinel\"\n";

TEST(ParseCluster, SentinelsHaveDefaults) {
  const ClusterOptions cluster = parse_scenarios(file(kSentinel), "f.toml").front().cluster;
  EXPECT_EQ(cluster.topology, Topology::sentinel);
  EXPECT_EQ(cluster.nodes, (std::vector<std::string>{"r1", "r2"}));
  EXPECT_EQ(cluster.sentinels.names, (std::vector<std::string>{"s1", "s2", "s3"}));
  EXPECT_EQ(cluster.sentinels.quorum, 2);
  EXPECT_EQ(cluster.sentinels.down_after, 1s);
  EXPECT_EQ(cluster.sentinels.failover_timeout, 3s);
  EXPECT_EQ(cluster.sentinels.parallel_syncs, 1);
  EXPECT_TRUE(cluster.sentinels.quick);
}

TEST(ParseCluster, SentinelsAsTheFileSays) {
  const ClusterOptions cluster =
      parse_scenarios(file(kSentinel + "sentinels = [\"a\", \"b\", \"c\", \"d\", \"e\"]\nquorum = 3\n"
                                       "down_after = \"2s\"\nfailover_timeout = \"10s\"\nparallel_syncs = 2\n"
                                       "sentinel_pace = \"usual\"\n"),
                      "f.toml")
          .front()
          .cluster;
  EXPECT_EQ(cluster.sentinels.names.size(), 5u);
  EXPECT_EQ(cluster.sentinels.quorum, 3);
  EXPECT_EQ(cluster.sentinels.down_after, 2s);
  EXPECT_EQ(cluster.sentinels.failover_timeout, 10s);
  EXPECT_EQ(cluster.sentinels.parallel_syncs, 2);
  EXPECT_FALSE(cluster.sentinels.quick);
}

TEST(ParseCluster, SentinelsThatCannotBe) {
  EXPECT_THAT(problem(file("quorum = 2\n")),
              HasSubstr("f.toml:4:10: `quorum` goes with topology = \"sentinel\" only"));
  EXPECT_THAT(problem(file(kSentinel + "quorum = 4\n")), HasSubstr("`quorum` is 4"));
  EXPECT_THAT(problem(file(kSentinel + "sentinels = [\"s1\", \"r1\"]\n")), HasSubstr("`r1` twice"));
  EXPECT_THAT(problem(file(kSentinel + "sentinels = []\n")), HasSubstr("has 0 names"));
  EXPECT_THAT(problem(file(kSentinel + "down_after = \"1500us\"\n")),
              HasSubstr("expected whole milliseconds"));
  EXPECT_THAT(problem(file(kSentinel + "quorun = 2\n")), HasSubstr("did you mean `quorum`?"));
}

TEST(ParseCluster, FaultsThatMeetSentinels) {
  const auto crash = [](const std::string& kind, const std::string& node) {
    return "[[fault]]\nid = \"f\"\nkind = \"" + kind + "\"\nnode = \"" + node + "\"\nat = \"1s\"\n";
  };
  EXPECT_EQ(problem(file(kSentinel, crash("crash", "s1"))), "no problem");
  EXPECT_THAT(problem(file(kSentinel, crash("promote", "s1"))),
              HasSubstr("`node` names `s1`, expected `r1` or `r2`"));
  EXPECT_THAT(problem(file("", crash("crash", "s1"))), HasSubstr("`node` names `s1`"));
  const std::string ask = "[[fault]]\nid = \"f\"\nkind = \"sentinel-failover\"\nat = \"1s\"\n";
  EXPECT_EQ(problem(file(kSentinel, ask)), "no problem");
  EXPECT_THAT(problem(file("", ask)), HasSubstr("needs Sentinels, expected topology = \"sentinel\""));
  const std::string cut =
      "[[fault]]\nid = \"f\"\nkind = \"partition\"\nbetween = \"s1\"\nand = [\"r1\", \"s2\"]\nat = \"1s\"\n";
  EXPECT_EQ(problem(file(kSentinel, cut)), "no problem");
}

TEST(ParseCluster, ChainedReplicas) {
  const std::string chain = "topology = \"primary-replica\"\nnodes = [\"r1\", \"r2\", \"r3\"]\n";
  const ClusterOptions cluster =
      parse_scenarios(file(chain + "follows = { r3 = \"r2\" }\n"), "f.toml").front().cluster;
  EXPECT_EQ(first_primary_of(cluster, 1), 0u);
  EXPECT_EQ(first_primary_of(cluster, 2), 1u);
  EXPECT_EQ(direct_replicas(cluster), 1u);
  EXPECT_THAT(problem(file(chain + "follows = { r2 = \"r3\" }\n")), HasSubstr("stands before it"));
  EXPECT_THAT(problem(file(chain + "follows = { r1 = \"r1\" }\n")), HasSubstr("stands before it"));
  EXPECT_THAT(problem(file(chain + "follows = { r9 = \"r1\" }\n")), HasSubstr("names `r9`"));
  EXPECT_THAT(problem(file(chain + "follows = { r3 = \"r2\" }\nmin_replicas_to_write = 2\n")),
              HasSubstr("the cluster has 1 replicas"));
  EXPECT_THAT(problem(file("follows = { r3 = \"r2\" }\n")), HasSubstr("goes with topology"));
}

TEST(ParseCluster, Tls) {
  EXPECT_FALSE(parse_scenarios(file(""), "f.toml").front().cluster.tls);
  EXPECT_TRUE(parse_scenarios(file("tls = true\n"), "f.toml").front().cluster.tls);
  EXPECT_THAT(problem(file("tls = \"yes\"\n")), HasSubstr("expected true or false"));
  for (const char* const topology : {"sentinel", "cluster"}) {
    const std::string its = "topology = \"" + std::string(topology) + "\"\n";
    EXPECT_THAT(problem(file(its + "tls = true\n")), HasSubstr("expected topology = \"single\""));
    EXPECT_EQ(problem(file(its + "tls = false\n")), "no problem");
  }
}

TEST(ParseCluster, ARedisCluster) {
  const std::string elects = "topology = \"cluster\"\n";
  ClusterOptions cluster = parse_scenarios(file(elects), "f.toml").front().cluster;
  EXPECT_EQ(cluster.topology, Topology::cluster);
  EXPECT_EQ(cluster.nodes.size(), 6u);
  EXPECT_EQ(cluster.election.primaries, 3);
  EXPECT_EQ(cluster.election.node_timeout, 1s);
  EXPECT_EQ(direct_replicas(cluster), 1u);
  EXPECT_FALSE(starts_as_replica(cluster, 2));
  EXPECT_TRUE(starts_as_replica(cluster, 3));
  EXPECT_EQ(first_primary_of(cluster, 4), 1u);
  EXPECT_EQ(first_slots_of(cluster, 0), std::pair(0, 5460));
  EXPECT_EQ(first_slots_of(cluster, 1), std::pair(5461, 10921));
  EXPECT_EQ(first_slots_of(cluster, 2), std::pair(10922, 16383));
  const std::string nine = "nodes = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\"]\n";
  cluster = parse_scenarios(file(elects + nine + "primaries = 4\nnode_timeout = \"500ms\"\n"), "f.toml")
                .front()
                .cluster;
  EXPECT_EQ(cluster.election.primaries, 4);
  EXPECT_EQ(cluster.election.node_timeout, 500ms);
  EXPECT_EQ(first_primary_of(cluster, 8), 0u);
  EXPECT_EQ(direct_replicas(cluster), 1u) << "the least that a primary has";
}

TEST(ParseCluster, ARedisClusterThatCannotBe) {
  const std::string elects = "topology = \"cluster\"\n";
  EXPECT_THAT(problem(file("primaries = 3\n")),
              HasSubstr("`primaries` goes with topology = \"cluster\" only"));
  EXPECT_THAT(problem(file("node_timeout = \"2s\"\n")), HasSubstr("`node_timeout` goes with topology"));
  EXPECT_THAT(problem(file(elects + "primaries = 2\n")), HasSubstr("from 3 to 16"));
  EXPECT_THAT(problem(file(elects + "primaries = 7\n")), HasSubstr("`nodes` has 6 names"));
  EXPECT_THAT(problem(file(elects + "nodes = [\"a\", \"b\"]\n")), HasSubstr("expected 3 to 16"));
  EXPECT_THAT(problem(file(elects + "node_timeout = \"100us\"\n")), HasSubstr("whole milliseconds"));
  EXPECT_THAT(problem(file(elects + "min_replicas_to_write = 2\n")), HasSubstr("the cluster has 1 replicas"));
  const auto fault = [](const std::string& kind, const std::string& more) {
    return "[[fault]]\nid = \"f\"\nkind = \"" + kind + "\"\nat = \"1s\"\n" + more;
  };
  const std::string ask = fault("cluster-failover", "node = \"r4\"\nhow = \"force\"\n");
  EXPECT_EQ(problem(file(elects, ask)), "no problem");
  EXPECT_THAT(problem(file("", ask)), HasSubstr("needs a Redis Cluster, expected topology = \"cluster\""));
  for (const std::string& other :
       {fault("promote", "node = \"r4\"\n"), fault("demote", "node = \"r1\"\nprimary = \"r4\"\n"),
        fault("read-only-moment", "node = \"r1\"\nfor = \"1s\"\n")})
    EXPECT_THAT(problem(file(elects, other)), HasSubstr("expected such as cluster-failover")) << other;
}

TEST(ParseCluster, SettingsOfServers) {
  const std::string text = file(
      "[cluster.settings]\nmin-replicas-to-write = 1\nreplica-read-only = false\n"
      "maxmemory = \"100mb\"\n");
  const ClusterOptions cluster = parse_scenarios(text, "f.toml").front().cluster;
  EXPECT_EQ(cluster.settings,
            (std::vector<std::pair<std::string, std::string>>{
                {"min-replicas-to-write", "1"}, {"replica-read-only", "no"}, {"maxmemory", "100mb"}}));
  EXPECT_EQ(world_problem(text, true), "no problem");
  EXPECT_EQ(world_problem(text, false), "no problem");
}

TEST(ParseCluster, SettingsThatCannotBe) {
  const auto with = [](const std::string& setting) {
    return problem(file("[cluster.settings]\n" + setting + "\n"));
  };
  EXPECT_THAT(with("min-replica-to-write = 1"),
              HasSubstr("f.toml:5:1: unknown setting `min-replica-to-write`"));
  EXPECT_THAT(with("min-replica-to-write = 1"), HasSubstr("did you mean `min-replicas-to-write`?"));
  EXPECT_THAT(with("min-replicas-to-write = \"one\""), HasSubstr("couldn't be parsed into an integer"));
  EXPECT_THAT(with("appendonly = true"), HasSubstr("`appendonly` is decided by `persistence` in [cluster]"));
  EXPECT_THAT(with("port = 1"), HasSubstr("decided by the harness"));
  EXPECT_THAT(with("appendfsync = \"no\""), HasSubstr("without an append-only file"));
  EXPECT_THAT(with("hz = [1]"), HasSubstr("`hz` is a list"));
  EXPECT_THAT(problem(file("settings = 1\n")), HasSubstr("expected a table: [cluster.settings]"));
}

// It says why, at the value.
TEST(ParseCluster, SettingsThatTheEmbeddedRedisDoesNotObey) {
  const std::string evicts = file("[cluster.settings]\nmaxmemory-policy = \"allkeys-lru\"\n");
  EXPECT_THAT(world_problem(evicts, true),
              HasSubstr("f.toml:5:20: the embedded Redis does not do `maxmemory-policy`"));
  EXPECT_THAT(world_problem(evicts, true), HasSubstr("it evicts nothing, expected --world real"));
  EXPECT_EQ(world_problem(evicts, false), "no problem");
  EXPECT_EQ(world_problem(file("[cluster.settings]\nmaxmemory-policy = \"noeviction\"\n"), true),
            "no problem");
}

}  // namespace
}  // namespace holdfast::sim
