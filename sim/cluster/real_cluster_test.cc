// The cluster of real servers: roles, sync through the proxy, crash, restart, promotion, pause, clock.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "sim/cluster/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

void with_cluster(const ClusterOptions& options, const std::function<void(Scene&)>& body) {
  in_scene(/*embedded=*/false, options, body);
}

ClusterOptions replicated(Persistence persistence = Persistence::none) {
  ClusterOptions options;
  options.topology = Topology::primary_replica;
  options.nodes = {"r1", "r2"};
  options.persistence = persistence;
  return options;
}

TEST(RealCluster, StartsInSyncWithRoles) {
  with_cluster(replicated(), [](Scene& scene) {
    EXPECT_EQ(scene.ask("r1", {"ROLE"}).items.at(0).text, "master");
    EXPECT_EQ(scene.ask("r2", {"ROLE"}).items.at(0).text, "slave");
    EXPECT_EQ(scene.ask("r2", {"ROLE"}).items.at(3).text, "connected");
    EXPECT_EQ(scene.ask("r2", {"SET", "k", "v"}).error_code(), "READONLY");
    scene.ask("r1", {"SET", "k", "v"});
    EXPECT_TRUE(scene.comes_to([&] { return scene.ask("r2", {"GET", "k"}).text == "v"; }));
  });
}

// In sync means that the primary's writes are on their way: the first one too, not only those that come after
// a replica's next acknowledgement.
TEST(RealCluster, WhenItHasStartedWritesAreReplicated) {
  with_cluster(replicated(), [](Scene& scene) {
    const std::string info = scene.ask("r2", {"INFO", "replication"}).text;
    EXPECT_EQ(info.find("slave_repl_offset:0\r\n"), std::string::npos) << info;
    EXPECT_EQ(scene.ask("r1", {"DBSIZE"}).integer, 0);
  });
}

TEST(RealCluster, AReplicaFollowsAReplica) {
  ClusterOptions options = replicated();
  options.nodes = {"r1", "r2", "r3"};
  options.follows = {{"r3", "r2"}};
  with_cluster(options, [](Scene& scene) {
    EXPECT_EQ(scene.ask("r1", {"ROLE"}).items.at(2).items.size(), 1u);
    EXPECT_EQ(scene.ask("r2", {"INFO", "replication"}).text.find("connected_slaves:0"), std::string::npos);
    scene.ask("r1", {"SET", "k", "v"});
    EXPECT_TRUE(scene.comes_to([&] { return scene.ask("r3", {"GET", "k"}).text == "v"; }));
  });
}

TEST(RealCluster, TwoThatKillConnectionsAtOneMomentBothDo) {
  with_cluster({}, [](Scene& scene) {
    const std::vector<std::string> command{"CLIENT", "KILL", "TYPE", "normal"};
    ClusterNode* const node = scene.cluster.find("r1");
    const auto kill = [&] {
      for (int i = 0; i < 300; ++i) node->administer(command);
    };
    Task other = scene.world.harness().runtime().spawn("other", kill);
    kill();
    other.join();
  });
}

TEST(RealCluster, ReplicasAnnounceTheirDoorInTheProxy) {
  with_cluster(replicated(), [](Scene& scene) {
    const redis::Reply role = scene.ask("r1", {"ROLE"});
    const redis::Reply& replica = role.items.at(2).items.at(0);
    EXPECT_EQ(replica.items.at(0).text, scene.cluster.find("r2")->endpoint().host);
    EXPECT_EQ(replica.items.at(1).text, std::to_string(scene.cluster.find("r2")->endpoint().port));
  });
}

TEST(RealCluster, PromotionAfterACrash) {
  with_cluster(replicated(), [](Scene& scene) {
    scene.cluster.find("r1")->crash();
    EXPECT_FALSE(scene.cluster.find("r1")->running());
    scene.cluster.find("r2")->promote();
    EXPECT_EQ(scene.ask("r2", {"SET", "k", "new"}).text, "OK");
    scene.cluster.find("r1")->restart(true);
    EXPECT_EQ(scene.ask("r1", {"ROLE"}).items.at(0).text, "master");  // nobody told it otherwise
    EXPECT_TRUE(scene.ask("r1", {"GET", "k"}).is_nil());
  });
}

TEST(RealCluster, ARestartedReplicaFollowsAgain) {
  with_cluster(replicated(), [](Scene& scene) {
    scene.ask("r1", {"SET", "k", "v"});
    scene.cluster.find("r2")->crash();
    scene.cluster.find("r2")->restart(false);
    EXPECT_TRUE(scene.comes_to([&] { return scene.ask("r2", {"GET", "k"}).text == "v"; }));
    EXPECT_THROW(scene.cluster.find("r2")->restart(true), std::runtime_error);  // it runs
  });
}

TEST(RealCluster, WhatARestartKeepsUnderEachPersistence) {
  for (const auto& [persistence, keeps] : {std::pair{Persistence::none, false},
                                           {Persistence::rdb, false},
                                           {Persistence::aof_always, true},
                                           {Persistence::aof_everysec, true},
                                           {Persistence::aof_no, true}}) {
    ClusterOptions options;
    options.persistence = persistence;
    with_cluster(options, [keeps = keeps](Scene& scene) {
      scene.ask("r1", {"SET", "k", "v"});
      scene.cluster.find("r1")->crash();
      scene.cluster.find("r1")->restart(true);
      EXPECT_EQ(scene.ask("r1", {"GET", "k"}).text, keeps ? "v" : "");
      scene.cluster.find("r1")->crash();
      scene.cluster.find("r1")->restart(false);
      EXPECT_EQ(scene.ask("r1", {"GET", "k"}).text, "");
    });
  }
}

TEST(RealCluster, IndependentNodesAndTheirClocks) {
  ClusterOptions options;
  options.topology = Topology::independent;
  options.nodes = {"a", "b", "c"};
  with_cluster(options, [](Scene& scene) {
    for (const char* node : {"a", "b", "c"}) {
      EXPECT_EQ(scene.ask(node, {"SET", "lock", "x", "PX", "10000"}).text, "OK");
    }
    scene.cluster.find("b")->step_clock(11s);
    EXPECT_EQ(scene.ask("a", {"GET", "lock"}).text, "x");
    EXPECT_TRUE(scene.ask("b", {"GET", "lock"}).is_nil());
    scene.cluster.find("c")->pause();
    scene.cluster.find("c")->resume();
    EXPECT_EQ(scene.ask("c", {"GET", "lock"}).text, "x");
  });
}

TEST(RealCluster, LagIsCountedOnTheWallClock) {
  with_cluster(replicated(), [](Scene& scene) {
    const auto lag = [&] {
      const std::string info = scene.ask("r1", {"INFO", "replication"}).text;
      return std::stoi(info.substr(info.find("lag=") + 4));
    };
    EXPECT_TRUE(scene.comes_to([&] { return lag() <= 1; }));
    scene.cluster.find("r1")->step_clock(std::chrono::seconds(30));
    bool seen = false;  // an acknowledgement may come first
    for (int i = 1; i <= 20 && !seen; ++i) {
      seen = lag() >= 29;
      if (!seen) scene.cluster.find("r1")->step_clock(std::chrono::seconds(30));
    }
    EXPECT_TRUE(seen);
    EXPECT_TRUE(scene.comes_to([&] { return lag() <= 1; }));
  });
}

}  // namespace
}  // namespace holdfast::sim
