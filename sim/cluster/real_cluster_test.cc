// The cluster of real servers: roles, sync through the proxy, crash, restart, promotion, pause, clock.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "lib/testing/server/server_connection.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  World& world;
  Proxy& proxy;
  Cluster& cluster;

  redis::Reply ask(const std::string& node, std::initializer_list<std::string> command) {
    Process& harness = world.harness();
    const MonotonicTime deadline = deadline_after(harness.runtime().now(), 10s);
    ServerConnection connection(harness.network(), cluster.find(node)->endpoint(), deadline);
    return connection.call(command, deadline);
  }
  bool comes_to(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000; ++i) {
      if (condition()) return true;
      world.harness().runtime().sleep_for(5ms);
    }
    return false;
  }
};

void with_cluster(ClusterOptions options, const std::function<void(Fixture&)>& body) {
  const TemporaryFolder folder;
  options.folder = folder.path();
  const std::unique_ptr<World> world = make_real_world({});
  world->run([&] {
    Proxy proxy(*world);
    const std::unique_ptr<Cluster> cluster = make_real_cluster(*world, proxy, options);
    cluster->start();
    Fixture fixture{*world, proxy, *cluster};
    body(fixture);
  });
}

ClusterOptions replicated(Persistence persistence = Persistence::none) {
  ClusterOptions options;
  options.topology = Topology::primary_replica;
  options.nodes = {"r1", "r2"};
  options.persistence = persistence;
  return options;
}

TEST(RealCluster, StartsInSyncWithRoles) {
  with_cluster(replicated(), [](Fixture& fixture) {
    EXPECT_EQ(fixture.ask("r1", {"ROLE"}).items.at(0).text, "master");
    EXPECT_EQ(fixture.ask("r2", {"ROLE"}).items.at(0).text, "slave");
    EXPECT_EQ(fixture.ask("r2", {"ROLE"}).items.at(3).text, "connected");
    EXPECT_EQ(fixture.ask("r2", {"SET", "k", "v"}).error_code(), "READONLY");
    fixture.ask("r1", {"SET", "k", "v"});
    EXPECT_TRUE(fixture.comes_to([&] { return fixture.ask("r2", {"GET", "k"}).text == "v"; }));
  });
}

TEST(RealCluster, AReplicaFollowsAReplica) {
  ClusterOptions options = replicated();
  options.nodes = {"r1", "r2", "r3"};
  options.follows = {{"r3", "r2"}};
  with_cluster(options, [](Fixture& fixture) {
    EXPECT_EQ(fixture.ask("r1", {"ROLE"}).items.at(2).items.size(), 1u);
    EXPECT_EQ(fixture.ask("r2", {"INFO", "replication"}).text.find("connected_slaves:0"), std::string::npos);
    fixture.ask("r1", {"SET", "k", "v"});
    EXPECT_TRUE(fixture.comes_to([&] { return fixture.ask("r3", {"GET", "k"}).text == "v"; }));
  });
}

TEST(RealCluster, TwoThatKillConnectionsAtOneMomentBothDo) {
  with_cluster({}, [](Fixture& fixture) {
    const std::vector<std::string> command{"CLIENT", "KILL", "TYPE", "normal"};
    ClusterNode* const node = fixture.cluster.find("r1");
    const auto kill = [&] {
      for (int i = 0; i < 300; ++i) node->administer(command);
    };
    Task other = fixture.world.harness().runtime().spawn("other", kill);
    kill();
    other.join();
  });
}

TEST(RealCluster, ReplicasAnnounceTheirDoorInTheProxy) {
  with_cluster(replicated(), [](Fixture& fixture) {
    const redis::Reply role = fixture.ask("r1", {"ROLE"});
    const redis::Reply& replica = role.items.at(2).items.at(0);
    EXPECT_EQ(replica.items.at(0).text, fixture.cluster.find("r2")->endpoint().host);
    EXPECT_EQ(replica.items.at(1).text, std::to_string(fixture.cluster.find("r2")->endpoint().port));
  });
}

TEST(RealCluster, PromotionAfterACrash) {
  with_cluster(replicated(), [](Fixture& fixture) {
    fixture.cluster.find("r1")->crash();
    EXPECT_FALSE(fixture.cluster.find("r1")->running());
    fixture.cluster.find("r2")->promote();
    EXPECT_EQ(fixture.ask("r2", {"SET", "k", "new"}).text, "OK");
    fixture.cluster.find("r1")->restart(true);
    EXPECT_EQ(fixture.ask("r1", {"ROLE"}).items.at(0).text, "master");  // nobody told it otherwise
    EXPECT_TRUE(fixture.ask("r1", {"GET", "k"}).is_nil());
  });
}

TEST(RealCluster, ARestartedReplicaFollowsAgain) {
  with_cluster(replicated(), [](Fixture& fixture) {
    fixture.ask("r1", {"SET", "k", "v"});
    fixture.cluster.find("r2")->crash();
    fixture.cluster.find("r2")->restart(false);
    EXPECT_TRUE(fixture.comes_to([&] { return fixture.ask("r2", {"GET", "k"}).text == "v"; }));
    EXPECT_THROW(fixture.cluster.find("r2")->restart(true), std::runtime_error);  // it runs
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
    with_cluster(options, [keeps = keeps](Fixture& fixture) {
      fixture.ask("r1", {"SET", "k", "v"});
      fixture.cluster.find("r1")->crash();
      fixture.cluster.find("r1")->restart(true);
      EXPECT_EQ(fixture.ask("r1", {"GET", "k"}).text, keeps ? "v" : "");
      fixture.cluster.find("r1")->crash();
      fixture.cluster.find("r1")->restart(false);
      EXPECT_EQ(fixture.ask("r1", {"GET", "k"}).text, "");
    });
  }
}

TEST(RealCluster, IndependentNodesAndTheirClocks) {
  ClusterOptions options;
  options.topology = Topology::independent;
  options.nodes = {"a", "b", "c"};
  with_cluster(options, [](Fixture& fixture) {
    for (const char* node : {"a", "b", "c"}) {
      EXPECT_EQ(fixture.ask(node, {"SET", "lock", "x", "PX", "10000"}).text, "OK");
    }
    fixture.cluster.find("b")->step_clock(11s);
    EXPECT_EQ(fixture.ask("a", {"GET", "lock"}).text, "x");
    EXPECT_TRUE(fixture.ask("b", {"GET", "lock"}).is_nil());
    fixture.cluster.find("c")->pause();
    fixture.cluster.find("c")->resume();
    EXPECT_EQ(fixture.ask("c", {"GET", "lock"}).text, "x");
  });
}

TEST(RealCluster, LagIsCountedOnTheWallClock) {
  with_cluster(replicated(), [](Fixture& fixture) {
    const auto lag = [&] {
      const std::string info = fixture.ask("r1", {"INFO", "replication"}).text;
      return std::stoi(info.substr(info.find("lag=") + 4));
    };
    EXPECT_TRUE(fixture.comes_to([&] { return lag() <= 1; }));
    fixture.cluster.find("r1")->step_clock(std::chrono::seconds(30));
    bool seen = false;  // an acknowledgement may come first
    for (int i = 1; i <= 20 && !seen; ++i) {
      seen = lag() >= 29;
      if (!seen) fixture.cluster.find("r1")->step_clock(std::chrono::seconds(30));
    }
    EXPECT_TRUE(seen);
    EXPECT_TRUE(fixture.comes_to([&] { return lag() <= 1; }));
  });
}

}  // namespace
}  // namespace holdfast::sim
