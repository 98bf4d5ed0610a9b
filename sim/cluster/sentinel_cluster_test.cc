// A primary, its replicas and three Sentinels, in both worlds with the same story: what clients are told, who
// is promoted when, and what becomes of an old primary.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/testing/server/server_connection.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

struct Scene {
  World& world;
  Proxy& proxy;
  Cluster& cluster;
  std::vector<std::string> told;  // "r2 primary", "r1 replica"

  redis::Reply ask(const std::string& node, std::initializer_list<std::string> command) {
    Process& harness = world.harness();
    const MonotonicTime deadline = deadline_after(harness.runtime().now(), 10s);
    ServerConnection connection(harness.network(), cluster.find(node)->endpoint(), deadline);
    return connection.call(command, deadline);
  }
  bool comes_to(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      world.harness().runtime().sleep_for(10ms);
    }
    return false;
  }
  // Whom that Sentinel names.
  std::string primary_of(const std::string& sentinel) {
    const redis::Reply at = ask(sentinel, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"});
    for (const auto& node : cluster.nodes()) {
      if (at.items.size() == 2 && node->endpoint().host == at.items[0].text &&
          std::to_string(node->endpoint().port) == at.items[1].text)
        return node->name();
    }
    return "?";
  }
  // "?": who turns a server throws its clients out, this one, too.
  std::string role_of(const std::string& node) {
    try {
      return ask(node, {"ROLE"}).items.at(0).text;
    } catch (const std::runtime_error&) {
      return "?";
    }
  }
  void cut(const std::vector<std::string>& here, const std::vector<std::string>& there) {
    const auto in = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    proxy.add_rule(make_partition_rule([=](const Link& link) {
      const bool hit =
          (in(here, link.from) && in(there, link.to)) || (in(there, link.from) && in(here, link.to));
      return Lanes{.request = hit, .reply = hit};
    }));
  }
};

class SentinelCluster : public ::testing::TestWithParam<bool> {
 protected:
  static void run(const std::vector<std::string>& nodes, const std::function<void(Scene&)>& body) {
    const TemporaryFolder folder;
    const bool embedded = GetParam();
    const ClusterOptions options{.topology = Topology::sentinel, .nodes = nodes, .folder = folder.path()};
    const std::unique_ptr<World> world =
        embedded ? make_embedded_world({.seed = 7}) : make_real_world({.seed = 7});
    std::unique_ptr<Proxy> proxy;
    std::unique_ptr<Cluster> cluster;
    std::unique_ptr<Scene> scene;
    world->run([&] {
      proxy = std::make_unique<Proxy>(*world);
      cluster = embedded ? make_embedded_cluster(*world, *proxy, options)
                         : make_real_cluster(*world, *proxy, options);
      cluster->start();
      scene = std::make_unique<Scene>(Scene{*world, *proxy, *cluster, {}});
      cluster->on_role_changed = [&](const std::string& node, bool primary) {
        scene->told.push_back(node + (primary ? " primary" : " replica"));
      };
      body(*scene);
    });
  }
};

std::string field(const redis::Reply& fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2) {
    if (fields.items[i].text == name) return fields.items[i + 1].text;
  }
  return "";
}

TEST_P(SentinelCluster, IsReadyWhenItHasStarted) {
  run({"r1", "r2", "r3"}, [](Scene& scene) {
    for (const char* const sentinel : {"s1", "s2", "s3"}) {
      EXPECT_EQ(scene.primary_of(sentinel), "r1");
      EXPECT_EQ(scene.ask(sentinel, {"SENTINEL", "SENTINELS", "mymaster"}).items.size(), 2u);
      EXPECT_EQ(scene.ask(sentinel, {"SENTINEL", "CKQUORUM", "mymaster"}).text,
                "OK 3 usable Sentinels. Quorum and failover authorization can be reached");
      const redis::Reply replicas = scene.ask(sentinel, {"SENTINEL", "REPLICAS", "mymaster"});
      ASSERT_EQ(replicas.items.size(), 2u);
      for (const redis::Reply& replica : replicas.items) {
        EXPECT_EQ(field(replica, "flags"), "slave");
        EXPECT_EQ(field(replica, "ip"), scene.cluster.find("r2")->endpoint().host) << "the door in the proxy";
      }
    }
    EXPECT_EQ(scene.role_of("s1"), "sentinel");
    EXPECT_EQ(scene.ask("s1", {"GET", "k"}).text,
              "ERR unknown command 'GET', with args beginning with: 'k' ");
  });
}

TEST_P(SentinelCluster, ReplacesAPrimaryThatDiedAndMakesItAReplicaWhenItComesBack) {
  run({"r1", "r2"}, [](Scene& scene) {
    scene.ask("r1", {"SET", "k", "v"});
    ASSERT_TRUE(scene.comes_to([&] { return scene.ask("r2", {"GET", "k"}).text == "v"; }));
    scene.cluster.find("r1")->crash();
    for (const char* const sentinel : {"s1", "s2", "s3"})
      ASSERT_TRUE(scene.comes_to([&] { return scene.primary_of(sentinel) == "r2"; })) << sentinel;
    EXPECT_EQ(scene.role_of("r2"), "master");
    EXPECT_EQ(scene.ask("r2", {"SET", "k", "w"}).text, "OK");
    ASSERT_TRUE(scene.comes_to([&] { return !scene.told.empty(); }));
    EXPECT_EQ(scene.told, std::vector<std::string>{"r2 primary"});
    scene.cluster.find("r1")->restart(true);
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r1") == "slave"; }));
    ASSERT_TRUE(scene.comes_to([&] { return scene.ask("r1", {"GET", "k"}).text == "w"; }));
    ASSERT_TRUE(scene.comes_to([&] { return scene.told.size() == 2; }));
    EXPECT_EQ(scene.told.back(), "r1 replica");
    // What it was told to be stands in its file.
    scene.cluster.find("r1")->crash();
    scene.cluster.find("r1")->restart(true);
    EXPECT_EQ(scene.role_of("r1"), "slave");
    scene.cluster.find("r2")->crash();
    for (const char* const sentinel : {"s1", "s2", "s3"})
      ASSERT_TRUE(scene.comes_to([&] { return scene.primary_of(sentinel) == "r1"; })) << sentinel;
  });
}

TEST_P(SentinelCluster, TurnsTheOtherReplicaToTheNewPrimary) {
  run({"r1", "r2", "r3"}, [](Scene& scene) {
    scene.cluster.find("r1")->crash();
    ASSERT_TRUE(scene.comes_to([&] { return scene.primary_of("s1") != "r1"; }));
    const std::string now = scene.primary_of("s1"), other = now == "r2" ? "r3" : "r2";
    ASSERT_TRUE(scene.comes_to([&] {
      const redis::Reply role = scene.ask(other, {"ROLE"});
      return role.items.size() == 5 && role.items[3].text == "connected" &&
             role.items[2].integer == scene.cluster.find(now)->endpoint().port;
    }));
  });
}

TEST_P(SentinelCluster, ASentinelThatIsAskedReplacesAPrimaryThatLives) {
  run({"r1", "r2"}, [](Scene& scene) {
    EXPECT_EQ(scene.ask("s2", {"SENTINEL", "FAILOVER", "mymaster"}).text, "OK");
    for (const char* const sentinel : {"s1", "s2", "s3"})
      ASSERT_TRUE(scene.comes_to([&] { return scene.primary_of(sentinel) == "r2"; })) << sentinel;
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r1") == "slave"; }));
  });
}

// A minority promotes nobody: it sees the primary down, and finds no quorum.
TEST_P(SentinelCluster, AMinorityPromotesNobody) {
  run({"r1", "r2"}, [](Scene& scene) {
    scene.cut({"s1"}, {"r1", "s2", "s3"});
    ASSERT_TRUE(scene.comes_to([&] {
      return field(scene.ask("s1", {"SENTINEL", "MASTER", "mymaster"}), "flags").starts_with("s_down");
    }));
    EXPECT_TRUE(scene.comes_to([&] {
      return scene.ask("s1", {"SENTINEL", "CKQUORUM", "mymaster"}).error_code() == "NOQUORUM";
    }));
    scene.world.harness().runtime().sleep_for(3s);
    EXPECT_EQ(scene.primary_of("s1"), "r1");
    EXPECT_EQ(scene.primary_of("s2"), "r1");
    EXPECT_EQ(scene.role_of("r2"), "slave");
    EXPECT_EQ(scene.told, std::vector<std::string>{});
  });
}

// The primary lives, but its Sentinels do not hear it: two primaries.
TEST_P(SentinelCluster, APrimaryThatIsCutOffFromItsSentinelsIsReplacedAndDoesNotKnow) {
  run({"r1", "r2"}, [](Scene& scene) {
    scene.cut({"r1"}, {"r2", "s1", "s2", "s3"});
    ASSERT_TRUE(scene.comes_to([&] { return scene.primary_of("s1") == "r2"; }));
    EXPECT_EQ(scene.role_of("r1"), "master");
    EXPECT_EQ(scene.role_of("r2"), "master");
  });
}

TEST_P(SentinelCluster, ASentinelComesBackAndKnowsTheNewPrimary) {
  run({"r1", "r2"}, [](Scene& scene) {
    scene.cluster.find("s3")->crash();
    scene.cluster.find("r1")->crash();
    ASSERT_TRUE(scene.comes_to([&] { return scene.primary_of("s1") == "r2"; }));
    scene.cluster.find("s3")->restart(true);
    EXPECT_TRUE(scene.comes_to([&] { return scene.primary_of("s3") == "r2"; }));
    EXPECT_THROW(scene.cluster.find("s3")->promote(), std::runtime_error);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, SentinelCluster, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

}  // namespace
}  // namespace holdfast::sim
