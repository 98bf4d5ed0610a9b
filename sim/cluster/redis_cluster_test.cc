// A Redis Cluster of three primaries with a replica each: who has which slots, who is elected when, what
// clients of the library see of it, and what becomes of an old primary.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/redis/client.h"
#include "lib/redis/hash_slot.h"
#include "sim/cluster/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// A key of the primary of that number.
std::string key_of(int primary, const std::string& prefix = "k") {
  const auto [first, last] =
      first_slots_of({.topology = Topology::cluster}, static_cast<std::size_t>(primary));
  for (int i = 0;; ++i) {
    std::string key = prefix + std::to_string(i);
    const int slot = redis::hash_slot(key);
    if (slot >= first && slot <= last) return key;
  }
}

bool is_well(Scene& scene, const std::string& node) {
  return scene.ask(node, {"CLUSTER", "INFO"}).text.starts_with("cluster_state:ok");
}

// A process of its own with a client that knows two of the nodes, and what it does.
void run_client(Scene& scene, const std::string& name,
                const std::function<void(redis::Client&, Process&)>& body) {
  Process& process = scene.world.add_process(name);
  Parker& here = scene.world.harness().runtime().parker();
  bool done = false;
  process.start("client", [&] {
    redis::Client client(process.runtime(), process.network(),
                         {.nodes = {{"r2", scene.cluster.find("r2")->endpoint()},
                                    {"r5", scene.cluster.find("r5")->endpoint()}},
                          .cluster = true,
                          .command_timeout = 30s});
    body(client, process);
    done = true;
    here.unpark();
  });
  while (!done) here.park_until(kNever);
}

class RedisCluster : public ::testing::TestWithParam<bool> {
 protected:
  static void run(const std::function<void(Scene&)>& body) {
    in_scene(GetParam(), {.topology = Topology::cluster, .nodes = {"r1", "r2", "r3", "r4", "r5", "r6"}},
             body);
  }
};

TEST_P(RedisCluster, IsReadyWhenItHasStarted) {
  run([](Scene& scene) {
    // A replica that has nothing yet is not named.
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(scene.ask("r" + std::to_string(i + 1), {"SET", key_of(i), "v"}).text, "OK");
    for (const char* const node : {"r1", "r2", "r3", "r4", "r5", "r6"}) {
      EXPECT_TRUE(is_well(scene, node)) << node;
      ASSERT_TRUE(scene.comes_to([&] {
        const redis::Reply slots = scene.ask(node, {"CLUSTER", "SLOTS"});
        return std::all_of(slots.items.begin(), slots.items.end(),
                           [](const redis::Reply& range) { return range.items.size() == 4; });
      })) << node;
      const redis::Reply slots = scene.ask(node, {"CLUSTER", "SLOTS"});
      ASSERT_EQ(slots.items.size(), 3u);
      for (std::size_t i = 0; i < 3; ++i) {
        const redis::Reply& range = slots.items[i];
        for (std::size_t k : {2u, 3u}) {
          const Endpoint door = scene.cluster.find("r" + std::to_string(i + 1 + (k - 2) * 3))->endpoint();
          EXPECT_EQ(range.items[k].items[0].text, door.host) << "the door in the proxy";
          EXPECT_EQ(range.items[k].items[1].integer, door.port);
        }
      }
    }
    const Endpoint door = scene.cluster.find("r2")->endpoint();
    EXPECT_EQ(scene.ask("r1", {"GET", key_of(1)}).text,
              "MOVED " + std::to_string(redis::hash_slot(key_of(1))) + " " + door.to_string());
    EXPECT_EQ(scene.ask("r4", {"GET", key_of(0)}).error_code(), "MOVED");
    EXPECT_EQ(scene.ask("r1", {"DEL", key_of(0), key_of(1)}).error_code(), "CROSSSLOT");
    EXPECT_TRUE(scene.told.empty());
  });
}

TEST_P(RedisCluster, ElectsAReplicaInPlaceOfAPrimaryThatDiedAndTakesItBackAsAReplica) {
  run([](Scene& scene) {
    const std::string key = key_of(0);
    EXPECT_EQ(scene.ask("r1", {"SET", key, "v"}).text, "OK");
    scene.world.harness().runtime().sleep_for(500ms);  // it is replicated
    scene.cluster.find("r1")->crash();
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r4") == "master"; }));
    for (const char* const node : {"r2", "r3", "r4", "r5", "r6"})
      ASSERT_TRUE(scene.comes_to([&] { return is_well(scene, node); })) << node;
    EXPECT_EQ(scene.ask("r4", {"GET", key}).text, "v");
    EXPECT_EQ(scene.ask("r4", {"SET", key, "w"}).text, "OK");
    ASSERT_TRUE(scene.comes_to([&] { return !scene.told.empty(); }));
    EXPECT_EQ(scene.told, std::vector<std::string>{"r4 primary"});
    scene.cluster.find("r1")->restart(true);
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r1") == "slave"; }));
    ASSERT_TRUE(scene.comes_to([&] { return scene.told.size() == 2; }));
    EXPECT_EQ(scene.told.back(), "r1 replica");
    ASSERT_TRUE(scene.comes_to([&] { return scene.ask("r1", {"ROLE"}).items.at(3).text == "connected"; }));
    // And is elected again.
    scene.cluster.find("r4")->crash();
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r1") == "master"; }));
    EXPECT_EQ(scene.ask("r1", {"GET", key}).text, "w");
  });
}

TEST_P(RedisCluster, AClientFollowsAnElection) {
  run([](Scene& scene) {
    run_client(scene, "c1", [&](redis::Client& client, Process&) {
      for (int primary = 0; primary < 3; ++primary) {
        const redis::Answer answer = client.call({"SET", key_of(primary), "v"});
        EXPECT_EQ(answer.reply.text, "OK");
        EXPECT_EQ(answer.node,
                  primary == 1
                      ? "r2"
                      : scene.cluster.nodes()[static_cast<std::size_t>(primary)]->endpoint().to_string());
      }
      const std::string channel = "{" + key_of(0) + "}:news";
      std::vector<std::string> heard;
      int in_force = 0;
      const auto subscription = client.subscribe(
          channel, [&](std::string_view text) { heard.emplace_back(text); }, [&] { ++in_force; });
      ASSERT_TRUE(scene.comes_to([&] { return in_force == 1; }));
      client.call({"PUBLISH", channel, "one"});
      ASSERT_TRUE(scene.comes_to([&] { return heard.size() == 1; }));
      scene.cluster.find("r1")->crash();
      try {  // what was on its way may have been executed
        client.call({"GET", key_of(0)});
      } catch (const redis::Error& error) {
        EXPECT_TRUE(error.may_have_executed());
      }
      const redis::Answer answer = client.call({"SET", key_of(0), "w"});
      EXPECT_EQ(answer.node, scene.cluster.find("r4")->endpoint().to_string());
      ASSERT_TRUE(scene.comes_to([&] { return in_force == 2; }));
      client.call({"PUBLISH", channel, "two"});
      ASSERT_TRUE(scene.comes_to([&] { return heard.size() == 2; }));
    });
  });
}

// The primary lives, but the others do not hear it: it is replaced, and serves nobody when it has noticed.
TEST_P(RedisCluster, APrimaryThatIsCutOffIsReplacedAndGivesUp) {
  run([](Scene& scene) {
    const std::string key = key_of(0);
    const RuleId rule = scene.cut({"r1"}, {"r2", "r3", "r4", "r5", "r6"});
    EXPECT_EQ(scene.ask("r1", {"SET", key, "lost"}).text, "OK");
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r4") == "master"; }));
    ASSERT_TRUE(scene.comes_to([&] { return scene.ask("r1", {"GET", key}).error_code() == "CLUSTERDOWN"; }));
    EXPECT_EQ(scene.role_of("r1"), "master") << "it does not know better";
    ASSERT_TRUE(scene.comes_to([&] { return scene.ask("r4", {"SET", key, "kept"}).text == "OK"; }));
    scene.proxy.heal_rule(rule);
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r1") == "slave"; }));
    ASSERT_TRUE(scene.comes_to([&] { return is_well(scene, "r1"); }));
    EXPECT_EQ(scene.ask("r4", {"GET", key}).text, "kept");
  });
}

// A minority elects nobody.
TEST_P(RedisCluster, AMinorityElectsNobody) {
  run([](Scene& scene) {
    scene.cut({"r1", "r4"}, {"r2", "r3", "r5", "r6"});
    ASSERT_TRUE(scene.comes_to([&] { return !is_well(scene, "r1") && !is_well(scene, "r2"); }));
    scene.world.harness().runtime().sleep_for(4s);
    EXPECT_EQ(scene.role_of("r1"), "master");
    EXPECT_EQ(scene.role_of("r4"), "slave");
    EXPECT_EQ(scene.role_of("r2"), "master");
    EXPECT_EQ(scene.role_of("r5"), "slave");
    EXPECT_EQ(scene.told, std::vector<std::string>{});
  });
}

TEST_P(RedisCluster, AReplicaThatIsAskedTakesOver) {
  run([](Scene& scene) {
    const std::string key = key_of(0);
    EXPECT_EQ(scene.ask("r1", {"SET", key, "v"}).text, "OK");
    EXPECT_EQ(scene.ask("r1", {"CLUSTER", "FAILOVER"}).text,
              "ERR You should send CLUSTER FAILOVER to a replica");
    EXPECT_EQ(scene.ask("r4", {"CLUSTER", "FAILOVER"}).text, "OK");
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r4") == "master"; }));
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r1") == "slave"; }));
    EXPECT_EQ(scene.ask("r4", {"GET", key}).text, "v") << "it waited until it had everything";
    EXPECT_EQ(scene.ask("r5", {"CLUSTER", "FAILOVER", "TAKEOVER"}).text, "OK");
    ASSERT_TRUE(scene.comes_to([&] { return scene.role_of("r2") == "slave"; }));
    EXPECT_THROW(scene.cluster.find("r6")->promote(), std::runtime_error);
    EXPECT_THROW(scene.cluster.demote("r3", "r4"), std::runtime_error);
  });
}

// Whoever gives a lock back hands it to a waiter that listens at the same node, and passes over the others,
// who hear of it all the same. No two may take it for theirs.
TEST_P(RedisCluster, ALockThatIsHandedOverHasOneHolder) {
  run([](Scene& scene) {
    constexpr int kClients = 5, kRounds = 15;
    std::map<std::string, int> holders;
    int done = 0, overlaps = 0;
    Parker& here = scene.world.harness().runtime().parker();
    for (int i = 1; i <= kClients; ++i) {
      Process& process = scene.world.add_process("c" + std::to_string(i));
      process.start("client", [&] {
        redis::Client client(
            process.runtime(), process.network(),
            {.nodes = {{"", scene.cluster.find("r1")->endpoint()}}, .cluster = true, .command_timeout = 30s});
        ReentrantLocks plain(client, {.lease = 20s});
        FairLocks fair(client, {.lease = 20s});
        for (int round = 0; round < kRounds; ++round) {
          const std::string key = key_of(round % 3);
          const bool in_turn = round / 3 % 2 == 1;
          const std::shared_ptr<Lock> lock = in_turn ? fair.obtain(key + "f") : plain.obtain(key);
          lock->lock();
          if (++holders[lock->key()] > 1) ++overlaps;
          process.runtime().sleep_for(5ms);
          --holders[lock->key()];
          lock->unlock();
        }
        if (++done == kClients) here.unpark();
      });
    }
    while (done < kClients) here.park_until(kNever);
    EXPECT_EQ(overlaps, 0);
  });
}

// One node that does not answer costs the locks of the others nothing.
TEST_P(RedisCluster, RenewalsOfOneNodeDoNotWaitForAnother) {
  run([](Scene& scene) {
    run_client(scene, "c1", [&](redis::Client& client, Process& process) {
      ReentrantLocks locks(client, {.lease = 3s});
      std::vector<std::shared_ptr<Lock>> held;
      for (int primary = 0; primary < 3; ++primary) {
        for (const char* const prefix : {"a", "b"}) {
          held.push_back(locks.obtain(key_of(primary, prefix)));
          held.back()->lock();
        }
      }
      const RuleId rule = scene.cut({"c1"}, {"r1"});
      process.runtime().sleep_for(6s);
      for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(held[i]->is_held_by_me(), i >= 2) << i;
      scene.proxy.heal_rule(rule);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, RedisCluster, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

}  // namespace
}  // namespace holdfast::sim
