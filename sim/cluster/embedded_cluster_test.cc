// The embedded cluster as clients and faults meet it: through the proxy, in virtual time.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "sim/cluster/testing/embedded_fixture.h"

namespace holdfast::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ClusterOptions kPair{.topology = Topology::primary_replica, .nodes = {"r1", "r2"}};

TEST(EmbeddedClusterTest, WritesReachTheReplicaAndItRefusesThem) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    Caller replica(client, cluster.find("r2")->endpoint());
    world.harness().runtime().sleep_for(milliseconds(10));
    EXPECT_EQ(primary.ask("SET k v PX 5000"), "+OK\r\n");
    EXPECT_EQ(primary.ask("WAIT 1 1000"), ":1\r\n");
    EXPECT_EQ(replica.ask("GET k"), "$1\r\nv\r\n");
    EXPECT_EQ(replica.ask("SET k w"), "-READONLY You can't write against a read only replica.\r\n");
    EXPECT_TRUE(replica.ask("ROLE").starts_with("*5\r\n$5\r\nslave"));
    EXPECT_EQ(field(primary.ask("INFO replication"), "connected_slaves"), "1");
  });
}

TEST(EmbeddedClusterTest, AReplicaFollowsAReplica) {
  const ClusterOptions chain{
      .topology = Topology::primary_replica, .nodes = {"r1", "r2", "r3"}, .follows = {{"r3", "r2"}}};
  in_cluster(chain, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    Caller middle(client, cluster.find("r2")->endpoint()), last(client, cluster.find("r3")->endpoint());
    EXPECT_EQ(field(primary.ask("INFO replication"), "connected_slaves"), "1");
    EXPECT_EQ(field(middle.ask("INFO replication"), "connected_slaves"), "1");
    EXPECT_EQ(primary.ask("SET k v"), "+OK\r\n");
    world.harness().runtime().sleep_for(milliseconds(10));
    EXPECT_EQ(last.ask("GET k"), "$1\r\nv\r\n");
  });
}

TEST(EmbeddedClusterTest, APromotedReplicaKeepsWhatItHadAndTakesANewIdentity) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    EXPECT_EQ(primary.ask("SET k v"), "+OK\r\n");
    EXPECT_EQ(primary.ask("WAIT 1 1000"), ":1\r\n");
    const std::string id = field(primary.ask("INFO replication"), "master_replid");
    cluster.find("r1")->crash();
    EXPECT_FALSE(cluster.find("r1")->running());
    cluster.find("r2")->promote();
    Caller next(client, cluster.find("r2")->endpoint());
    EXPECT_EQ(next.ask("GET k"), "$1\r\nv\r\n");
    EXPECT_EQ(next.ask("SET k w"), "+OK\r\n");
    const std::string info = next.ask("INFO replication");
    EXPECT_EQ(field(info, "role"), "master");
    EXPECT_NE(field(info, "master_replid"), id);
    EXPECT_EQ(field(info, "master_replid2"), id);
  });
}

TEST(EmbeddedClusterTest, ARestartedPrimaryLosesWhatItsPersistenceLoses) {
  const auto after_restart = [](Persistence persistence, bool keep_disk) {
    std::string answer;
    in_cluster({.nodes = {"r1"}, .persistence = persistence}, [&](World& world, Proxy&, Cluster& cluster) {
      Process& client = world.add_process("c1");
      Caller before(client, cluster.find("r1")->endpoint());
      EXPECT_EQ(before.ask("SET k v"), "+OK\r\n");
      cluster.find("r1")->crash();
      cluster.find("r1")->restart(keep_disk);
      Caller after(client, cluster.find("r1")->endpoint());
      answer = after.ask("GET k");
    });
    return answer;
  };
  EXPECT_EQ(after_restart(Persistence::none, true), "$-1\r\n");
  EXPECT_EQ(after_restart(Persistence::rdb, true), "$-1\r\n");
  EXPECT_EQ(after_restart(Persistence::aof_everysec, true), "$1\r\nv\r\n");
  EXPECT_EQ(after_restart(Persistence::aof_always, true), "$1\r\nv\r\n");
  EXPECT_EQ(after_restart(Persistence::aof_always, false), "$-1\r\n");
}

TEST(EmbeddedClusterTest, AReplicaComesBackAfterItsPrimaryRestarted) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    cluster.find("r1")->crash();
    world.harness().runtime().sleep_for(seconds(3));
    cluster.find("r1")->restart(true);
    Caller primary(client, cluster.find("r1")->endpoint());
    EXPECT_EQ(primary.ask("SET k v"), "+OK\r\n");
    world.harness().runtime().sleep_for(seconds(3));
    Caller replica(client, cluster.find("r2")->endpoint());
    EXPECT_EQ(replica.ask("GET k"), "$1\r\nv\r\n");
    cluster.find("r2")->crash();
    cluster.find("r2")->restart(true);
    world.harness().runtime().sleep_for(seconds(3));
    Caller again(client, cluster.find("r2")->endpoint());
    EXPECT_EQ(again.ask("GET k"), "$1\r\nv\r\n");
  });
}

TEST(EmbeddedClusterTest, ClockStepsAndPausesActOnOneNode) {
  in_cluster({.topology = Topology::independent, .nodes = {"r1", "r2"}},
             [](World& world, Proxy&, Cluster& cluster) {
               Process& client = world.add_process("c1");
               Caller one(client, cluster.find("r1")->endpoint());
               Caller two(client, cluster.find("r2")->endpoint());
               one.ask("SET k v PX 8000");
               two.ask("SET k v PX 8000");
               cluster.find("r1")->step_clock(seconds(10));
               EXPECT_EQ(one.ask("GET k"), "$-1\r\n");
               EXPECT_EQ(two.ask("GET k"), "$1\r\nv\r\n");
               cluster.find("r2")->pause();
               EXPECT_EQ(one.ask("PING"), "+PONG\r\n");
               const MonotonicTime before = world.harness().runtime().now();
               EXPECT_EQ(two.ask("PING"), "timed out");
               EXPECT_GE(world.harness().runtime().now() - before, seconds(20));
               cluster.find("r2")->resume();
               EXPECT_EQ(two.read(), "+PONG\r\n");
             });
}

TEST(EmbeddedClusterTest, MinReplicasRefusesAfterTheLag) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    EXPECT_EQ(primary.ask("CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 2"), "+OK\r\n");
    EXPECT_EQ(primary.ask("SET k v"), "+OK\r\n");
    cluster.find("r2")->pause();
    world.harness().runtime().sleep_for(milliseconds(900));
    EXPECT_EQ(primary.ask("SET k v"), "+OK\r\n") << "the window stays open for the lag";
    world.harness().runtime().sleep_for(seconds(4));
    EXPECT_EQ(primary.ask("SET k v"), "-NOREPLICAS Not enough good replicas to write.\r\n");
    EXPECT_EQ(primary.ask("WAIT 1 150"), ":0\r\n");
  });
}

TEST(EmbeddedClusterTest, OneSeedGivesOneTrace) {
  const auto story = [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    for (int i = 0; i < 20; ++i) primary.ask("SET k" + std::to_string(i) + " v PX 300");
    world.harness().runtime().sleep_for(seconds(1));
    cluster.find("r1")->crash();
    cluster.find("r2")->promote();
  };
  EXPECT_EQ(in_cluster(kPair, story), in_cluster(kPair, story));
}

// Who administers a node asks again as long as it says one of these.
TEST(NodeRefuses, SaysWhetherItIsForNow) {
  const auto for_now = [](const std::string& answer) {
    const NodeRefuses refusal("node r1 refuses", answer);
    return refusal.for_now();
  };
  EXPECT_TRUE(for_now("BUSY Redis is busy running a script."));
  EXPECT_TRUE(for_now("LOADING Redis is loading the dataset in memory"));
  EXPECT_TRUE(for_now("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."));
  EXPECT_TRUE(for_now("ERR REPLICAOF not allowed while failing over."));
  EXPECT_FALSE(for_now("BUSYGROUP Consumer Group name already exists"));
  EXPECT_FALSE(for_now("ERR unknown command"));
}

}  // namespace
}  // namespace holdfast::sim
