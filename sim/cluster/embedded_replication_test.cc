// Replication between embedded servers: resynchronisation, chains, split brain, what replicas show.
#include <gtest/gtest.h>

#include <chrono>

#include "sim/cluster/testing/embedded_fixture.h"

namespace holdfast::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ClusterOptions kPair{.topology = Topology::primary_replica, .nodes = {"r1", "r2"}};
const ClusterOptions kThree{.topology = Topology::independent, .nodes = {"r1", "r2", "r3"}};

TEST(EmbeddedReplicationTest, ABrokenLinkResumesFromTheBacklog) {
  in_cluster(kPair, [](World& world, Proxy& proxy, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    Caller replica(client, cluster.find("r2")->endpoint());
    primary.ask("SELECT 3");
    primary.ask("SET k 1");
    world.harness().runtime().sleep_for(milliseconds(50));
    EXPECT_EQ(proxy.reset_links([](const Link& link) { return link.replication; }), 1u);
    primary.ask("EVAL \"redis.call('incr','k') redis.call('pexpire','k','90000')\" 0");
    world.harness().runtime().sleep_for(seconds(3));
    const std::string info = primary.ask("INFO");
    EXPECT_EQ(field(info, "sync_full"), "1");
    EXPECT_EQ(field(info, "sync_partial_ok"), "1");
    replica.ask("SELECT 3");
    EXPECT_EQ(replica.ask("GET k"), "$1\r\n2\r\n");
    EXPECT_EQ(field(primary.ask("INFO replication"), "master_repl_offset"),
              field(replica.ask("INFO replication"), "master_repl_offset"));
  });
}

TEST(EmbeddedReplicationTest, TheOldPrimaryStaysWritableUntilItIsToldAndThenForgetsWhatDiverged) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller first(client, cluster.find("r1")->endpoint());
    Caller second(client, cluster.find("r2")->endpoint());
    first.ask("SET shared 1");
    first.ask("WAIT 1 500");
    cluster.find("r2")->promote();
    EXPECT_EQ(first.ask("SET only-here 1"), "+OK\r\n");
    EXPECT_EQ(second.ask("SET shared 2"), "+OK\r\n");
    const Endpoint to = cluster.find("r2")->endpoint();
    EXPECT_EQ(first.ask("REPLICAOF " + to.host + " " + std::to_string(to.port)), "+OK\r\n");
    world.harness().runtime().sleep_for(seconds(2));
    EXPECT_EQ(first.ask("GET shared"), "$1\r\n2\r\n");
    EXPECT_EQ(first.ask("EXISTS only-here"), ":0\r\n");
    EXPECT_EQ(first.ask("SET x 1"), "-READONLY You can't write against a read only replica.\r\n");
    EXPECT_EQ(field(second.ask("INFO"), "sync_full"), "1") << "its history had gone another way";
  });
}

TEST(EmbeddedReplicationTest, ADemotedPrimaryThatDidNotDivergeResumes) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller first(client, cluster.find("r1")->endpoint());
    Caller second(client, cluster.find("r2")->endpoint());
    first.ask("SET k 1");
    first.ask("WAIT 1 500");
    cluster.find("r2")->promote();
    second.ask("SET k 2");
    const Endpoint to = cluster.find("r2")->endpoint();
    first.ask("REPLICAOF " + to.host + " " + std::to_string(to.port));
    world.harness().runtime().sleep_for(seconds(2));
    EXPECT_EQ(first.ask("GET k"), "$1\r\n2\r\n");
    EXPECT_EQ(field(second.ask("INFO"), "sync_partial_ok"), "1");
    EXPECT_EQ(field(second.ask("INFO"), "sync_full"), "0");
  });
}

TEST(EmbeddedReplicationTest, ReplicasOfReplicas) {
  in_cluster(kThree, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller a(client, cluster.find("r1")->endpoint());
    Caller b(client, cluster.find("r2")->endpoint());
    Caller c(client, cluster.find("r3")->endpoint());
    const auto follow = [](Caller& who, const Endpoint& to) {
      EXPECT_EQ(who.ask("REPLICAOF " + to.host + " " + std::to_string(to.port)), "+OK\r\n");
    };
    a.ask("SELECT 5");
    a.ask("SET before 1");
    follow(b, cluster.find("r1")->endpoint());
    world.harness().runtime().sleep_for(seconds(1));
    a.ask("SET between 1");
    follow(c, cluster.find("r2")->endpoint());
    world.harness().runtime().sleep_for(seconds(2));
    a.ask("SET after 1");
    a.ask("PUBLISH channel hello");
    world.harness().runtime().sleep_for(seconds(1));
    c.ask("SELECT 5");
    EXPECT_EQ(c.ask("EXISTS before between after"), ":3\r\n");
    EXPECT_EQ(field(c.ask("INFO replication"), "master_replid"),
              field(a.ask("INFO replication"), "master_replid"));
    EXPECT_EQ(a.ask("WAIT 2 100"), ":1\r\n") << "a chained replica does not count";
  });
}

// Redis drops them when it gets another history from its new primary, not before.
TEST(EmbeddedReplicationTest, ADemotedPrimaryKeepsItsReplicasUntilItFollows) {
  in_cluster(kThree, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller a(client, cluster.find("r1")->endpoint());
    cluster.demote("r2", "r1");
    cluster.find("r3")->crash();
    world.harness().runtime().sleep_for(seconds(1));
    const auto link = [&] {
      const std::string list = a.ask("CLIENT LIST TYPE replica");
      const std::size_t at = list.find("id=");
      return at == std::string::npos ? "none" : list.substr(at, list.find(' ', at) - at);
    };
    const std::string before = link();
    cluster.demote("r1", "r3");
    world.harness().runtime().sleep_for(seconds(5));
    EXPECT_EQ(link(), before);
    EXPECT_EQ(field(Caller(client, cluster.find("r2")->endpoint()).ask("INFO"), "master_link_status"), "up");
    cluster.find("r3")->restart(false);
    world.harness().runtime().sleep_for(seconds(5));
    EXPECT_EQ(field(a.ask("INFO"), "connected_slaves"), "1");
    EXPECT_NE(link(), before);
  });
}

// A history that no replica has seen ends with its first one, as before REPLICAOF.
TEST(EmbeddedReplicationTest, WhoHasFollowedNobodyHasNoBacklog) {
  in_cluster(kThree, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller a(client, cluster.find("r1")->endpoint());
    cluster.find("r3")->crash();
    cluster.demote("r1", "r3");
    cluster.find("r1")->promote();
    const std::string before = a.ask("INFO");
    EXPECT_EQ(field(before, "repl_backlog_active"), "0");
    cluster.demote("r2", "r1");
    world.harness().runtime().sleep_for(seconds(1));
    const std::string info = a.ask("INFO");
    EXPECT_EQ(field(info, "connected_slaves"), "1");
    EXPECT_NE(field(info, "master_replid"), field(before, "master_replid"));
    EXPECT_EQ(field(info, "master_replid2"), std::string(40, '0'));
  });
}

TEST(EmbeddedReplicationTest, AReplicaThatTurnsToAnotherOneKnowsTheDatabaseOfTheStream) {
  in_cluster(kThree, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller a(client, cluster.find("r1")->endpoint());
    Caller c(client, cluster.find("r3")->endpoint());
    cluster.demote("r2", "r1");
    world.harness().runtime().sleep_for(seconds(1));
    cluster.demote("r3", "r2");
    world.harness().runtime().sleep_for(seconds(1));
    a.ask("SELECT 5");
    a.ask("SET k 1");
    world.harness().runtime().sleep_for(seconds(1));
    cluster.demote("r3", "r1");
    world.harness().runtime().sleep_for(seconds(2));
    EXPECT_EQ(field(a.ask("INFO"), "sync_partial_ok"), "1");
    a.ask("SET k 2");
    world.harness().runtime().sleep_for(seconds(1));
    c.ask("SELECT 5");
    EXPECT_EQ(c.ask("GET k"), "$1\r\n2\r\n");
  });
}

// A dump says in which stream it was written, and where.
TEST(EmbeddedReplicationTest, WhoStartsWithADumpGoesOnFromThere) {
  ClusterOptions options = kPair;
  options.persistence = Persistence::rdb;
  in_cluster(options, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    ClusterNode &first = *cluster.find("r1"), &second = *cluster.find("r2");
    const auto ask = [&](ClusterNode& node, const char* what) {
      return Caller(client, node.endpoint()).ask(what);
    };
    {
      Caller caller(client, first.endpoint());
      caller.ask("SELECT 5");
      caller.ask("SET short v PX 100");
      caller.ask("WAIT 1 1000");
    }
    const std::string save[] = {"SAVE"};
    second.administer(save);
    second.crash();
    Caller(client, first.endpoint()).ask("SET while-away v");
    second.restart(true);
    world.harness().runtime().sleep_for(seconds(2));
    EXPECT_EQ(field(ask(first, "INFO"), "sync_full"), "1") << "the replica needs what is missing";
    EXPECT_EQ(field(ask(first, "INFO"), "sync_partial_ok"), "1");
    EXPECT_EQ(ask(second, "EXISTS while-away"), ":1\r\n");

    {
      Caller caller(client, first.endpoint());
      caller.ask("SELECT 5");
      caller.ask("SET short v PX 100");
      caller.ask("WAIT 1 1000");
    }
    const std::string id = field(ask(first, "INFO"), "master_replid");
    first.administer(save);
    first.crash();
    world.harness().runtime().sleep_for(seconds(1));
    first.restart(true);
    world.harness().runtime().sleep_for(seconds(3));
    const std::string info = ask(first, "INFO");
    EXPECT_NE(field(info, "master_replid"), id);
    EXPECT_EQ(field(info, "master_replid2"), id);
    EXPECT_EQ(field(info, "sync_full"), "0") << "nor does that of a primary need more";
    EXPECT_EQ(field(info, "sync_partial_ok"), "1");
    EXPECT_EQ(field(info, "master_repl_offset"), field(ask(second, "INFO"), "master_repl_offset"));
    EXPECT_EQ(field(ask(second, "INFO keyspace"), "db5"), "?") << "what expired meanwhile went from it, too";
  });
}

TEST(EmbeddedReplicationTest, AReplicaHidesWhatExpiredAndWaitsForItsPrimaryToDeleteIt) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    Caller replica(client, cluster.find("r2")->endpoint());
    primary.ask("SET k v PX 1000");
    primary.ask("WAIT 1 500");
    cluster.find("r2")->step_clock(seconds(5));
    EXPECT_EQ(replica.ask("GET k"), "$-1\r\n");
    EXPECT_EQ(replica.ask("DBSIZE"), ":1\r\n");
    EXPECT_EQ(primary.ask("GET k"), "$1\r\nv\r\n");
    world.harness().runtime().sleep_for(seconds(2));
    EXPECT_EQ(replica.ask("DBSIZE"), ":0\r\n");
  });
}

TEST(EmbeddedReplicationTest, WaitEndsWhenTheServerIsDemoted) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    Caller other(client, cluster.find("r1")->endpoint());
    cluster.find("r2")->pause();
    primary.ask("SET k v");
    Task waiter = client.runtime().spawn(
        "waiter", [&] { EXPECT_TRUE(primary.ask("WAIT 1 0").starts_with("-UNBLOCKED force unblock")); });
    client.runtime().sleep_for(milliseconds(300));
    other.ask("REPLICAOF nowhere 1");
    waiter.join();
  });
}

TEST(EmbeddedReplicationTest, BlockedPopsAreServedInOrderAndReplicated) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    const Endpoint primary = cluster.find("r1")->endpoint();
    std::string first, second;
    Caller one(client, primary), two(client, primary), pusher(client, primary);
    Task a = client.runtime().spawn("one", [&] { first = one.ask("BLPOP q 0"); });
    client.runtime().sleep_for(milliseconds(10));
    Task b = client.runtime().spawn("two", [&] { second = two.ask("BLPOP q 0"); });
    client.runtime().sleep_for(milliseconds(10));
    EXPECT_EQ(pusher.ask("RPUSH q x y z"), ":3\r\n");
    a.join();
    b.join();
    EXPECT_EQ(first, "*2\r\n$1\r\nq\r\n$1\r\nx\r\n");
    EXPECT_EQ(second, "*2\r\n$1\r\nq\r\n$1\r\ny\r\n");
    EXPECT_EQ(pusher.ask("WAIT 1 500"), ":1\r\n");
    Caller replica(client, cluster.find("r2")->endpoint());
    EXPECT_EQ(replica.ask("LRANGE q 0 -1"), "*1\r\n$1\r\nz\r\n");
  });
}

TEST(EmbeddedReplicationTest, LagIsCountedOnTheWallClockAsInRedis) {
  in_cluster(kPair, [](World& world, Proxy&, Cluster& cluster) {
    Process& client = world.add_process("c1");
    Caller primary(client, cluster.find("r1")->endpoint());
    const auto lag = [&] {
      const std::string replica = field(primary.ask("INFO replication"), "slave0");
      return std::stoi(replica.substr(replica.rfind('=') + 1));
    };
    world.harness().runtime().sleep_for(milliseconds(2500));
    EXPECT_LE(lag(), 1);
    cluster.find("r1")->step_clock(seconds(30));
    EXPECT_GE(lag(), 30);
    world.harness().runtime().sleep_for(milliseconds(2500));
    EXPECT_LE(lag(), 1) << "the next acknowledgement came";
  });
}

}  // namespace
}  // namespace holdfast::sim
