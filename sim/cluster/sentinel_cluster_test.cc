// A primary, its replicas and three Sentinels, in both worlds with the same story: what clients are told, who
// is promoted when, and what becomes of an old primary.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sim/cluster/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Whom that Sentinel names.
std::string primary_of(Scene& scene, const std::string& sentinel) {
  const redis::Reply at = scene.ask(sentinel, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"});
  for (const auto& node : scene.cluster.nodes()) {
    if (at.items.size() == 2 && node->endpoint().host == at.items[0].text &&
        std::to_string(node->endpoint().port) == at.items[1].text)
      return node->name();
  }
  return "?";
}

class SentinelCluster : public ::testing::TestWithParam<bool> {
 protected:
  static void run(const std::vector<std::string>& nodes, const std::function<void(Scene&)>& body) {
    in_scene(GetParam(), {.topology = Topology::sentinel, .nodes = nodes}, body);
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
      EXPECT_EQ(primary_of(scene, sentinel), "r1");
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
      ASSERT_TRUE(scene.comes_to([&] { return primary_of(scene, sentinel) == "r2"; })) << sentinel;
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
      ASSERT_TRUE(scene.comes_to([&] { return primary_of(scene, sentinel) == "r1"; })) << sentinel;
  });
}

TEST_P(SentinelCluster, TurnsTheOtherReplicaToTheNewPrimary) {
  run({"r1", "r2", "r3"}, [](Scene& scene) {
    scene.cluster.find("r1")->crash();
    ASSERT_TRUE(scene.comes_to([&] { return primary_of(scene, "s1") != "r1"; }));
    const std::string now = primary_of(scene, "s1"), other = now == "r2" ? "r3" : "r2";
    ASSERT_TRUE(scene.comes_to([&] {
      const redis::Reply role = scene.ask(other, {"ROLE"});
      return role.items.size() == 5 && role.items[3].text == "connected" &&
             role.items[2].integer == scene.cluster.find(now)->endpoint().port;
    }));
    ASSERT_TRUE(scene.comes_to([&] { return !scene.turned.empty(); }));
    EXPECT_EQ(scene.turned[0], other);
  });
}

TEST_P(SentinelCluster, ASentinelThatIsAskedReplacesAPrimaryThatLives) {
  run({"r1", "r2"}, [](Scene& scene) {
    EXPECT_EQ(scene.ask("s2", {"SENTINEL", "FAILOVER", "mymaster"}).text, "OK");
    for (const char* const sentinel : {"s1", "s2", "s3"})
      ASSERT_TRUE(scene.comes_to([&] { return primary_of(scene, sentinel) == "r2"; })) << sentinel;
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
    EXPECT_EQ(primary_of(scene, "s1"), "r1");
    EXPECT_EQ(primary_of(scene, "s2"), "r1");
    EXPECT_EQ(scene.role_of("r2"), "slave");
    EXPECT_EQ(scene.told, std::vector<std::string>{});
  });
}

// The primary lives, but its Sentinels do not hear it: two primaries.
TEST_P(SentinelCluster, APrimaryThatIsCutOffFromItsSentinelsIsReplacedAndDoesNotKnow) {
  run({"r1", "r2"}, [](Scene& scene) {
    scene.cut({"r1"}, {"r2", "s1", "s2", "s3"});
    ASSERT_TRUE(scene.comes_to([&] { return primary_of(scene, "s1") == "r2"; }));
    EXPECT_EQ(scene.role_of("r1"), "master");
    EXPECT_EQ(scene.role_of("r2"), "master");
  });
}

TEST_P(SentinelCluster, ASentinelComesBackAndKnowsTheNewPrimary) {
  run({"r1", "r2"}, [](Scene& scene) {
    scene.cluster.find("s3")->crash();
    scene.cluster.find("r1")->crash();
    ASSERT_TRUE(scene.comes_to([&] { return primary_of(scene, "s1") == "r2"; }));
    scene.cluster.find("s3")->restart(true);
    EXPECT_TRUE(scene.comes_to([&] { return primary_of(scene, "s3") == "r2"; }));
    EXPECT_THROW(scene.cluster.find("s3")->promote(), std::runtime_error);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, SentinelCluster, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

}  // namespace
}  // namespace holdfast::sim
