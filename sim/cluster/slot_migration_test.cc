// A hash slot moves from one node of a Redis Cluster to another, key by key: what the nodes say to whom, and
// what the library's client and its locks make of that. The same story in both worlds.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/redis/client.h"
#include "lib/redis/hash_slot.h"
#include "sim/cluster/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Keys of one slot, at first that of r1.
const std::string kTag = [] {
  const auto [first, last] = first_slots_of({.topology = Topology::cluster}, 0);
  for (int i = 0;; ++i) {
    const std::string tag = "{k" + std::to_string(i) + "}";
    if (const int slot = redis::hash_slot(tag); slot >= first && slot <= last) return tag;
  }
}();
const std::string kSlot = std::to_string(redis::hash_slot(kTag));

struct Story {
  Scene& scene;

  redis::Reply ask(const std::string& node, std::initializer_list<std::string> command) {
    return scene.ask(node, command);
  }
  std::string at(const std::string& node) { return scene.cluster.find(node)->endpoint().to_string(); }
  std::string id_of(const std::string& node) { return ask(node, {"CLUSTER", "MYID"}).text; }
  // On one connection: what the last one is answered.
  redis::Reply ask_all(const std::string& node, const std::vector<std::vector<std::string>>& commands) {
    const MonotonicTime deadline = deadline_after(scene.world.harness().runtime().now(), 10s);
    ServerConnection connection(scene.world.harness().network(), scene.cluster.find(node)->endpoint(),
                                deadline);
    redis::Reply last;
    for (const std::vector<std::string>& command : commands) last = connection.call(command, deadline);
    return last;
  }
  redis::Reply asking(const std::string& node, const std::vector<std::string>& command) {
    return ask_all(node, {{"ASKING"}, command});
  }

  // r1 gives the slot to r2.
  void open() {
    EXPECT_EQ(ask("r2", {"CLUSTER", "SETSLOT", kSlot, "IMPORTING", id_of("r1")}).text, "OK");
    EXPECT_EQ(ask("r1", {"CLUSTER", "SETSLOT", kSlot, "MIGRATING", id_of("r2")}).text, "OK");
  }
  redis::Reply carry(const std::string& key, const std::string& patience_ms = "5000") {
    const Endpoint to = scene.cluster.find("r2")->endpoint();
    return ask("r1", {"MIGRATE", to.host, std::to_string(to.port), key, "0", patience_ms});
  }
  void carry_all() {
    for (const redis::Reply& key : ask("r1", {"CLUSTER", "GETKEYSINSLOT", kSlot, "1000"}).items)
      EXPECT_EQ(carry(key.text).text, "OK") << key.text;
  }
  void close() {
    const std::string id = id_of("r2");
    EXPECT_EQ(ask("r2", {"CLUSTER", "SETSLOT", kSlot, "NODE", id}).text, "OK");
    EXPECT_EQ(ask("r1", {"CLUSTER", "SETSLOT", kSlot, "NODE", id}).text, "OK");
  }
};

// A process of its own with a client of the Cluster, and what it does.
void run_client(Scene& scene, const std::string& name,
                const std::function<void(redis::Client&, Process&)>& body) {
  Process& process = scene.world.add_process(name);
  Parker& here = scene.world.harness().runtime().parker();
  bool done = false;
  process.start("client", [&] {
    redis::Client client(
        process.runtime(), process.network(),
        {.nodes = {{"", scene.cluster.find("r1")->endpoint()}, {"", scene.cluster.find("r3")->endpoint()}},
         .cluster = true,
         .command_timeout = 30s});
    body(client, process);
    done = true;
    here.unpark();
  });
  while (!done) here.park_until(kNever);
}

class SlotMigration : public ::testing::TestWithParam<bool> {
 protected:
  static void run(const std::function<void(Scene&, Story&)>& body) {
    in_scene(GetParam(), {.topology = Topology::cluster, .nodes = {"r1", "r2", "r3", "r4", "r5", "r6"}},
             [&](Scene& scene) {
               Story story{scene};
               body(scene, story);
             });
  }
};

TEST_P(SlotMigration, KeyByKey) {
  run([](Scene& scene, Story& story) {
    const std::string a = kTag + "a", b = kTag + "b", fresh = kTag + "fresh";
    const std::string moved_to_r1 = "MOVED " + kSlot + " " + story.at("r1");
    const std::string moved_to_r2 = "MOVED " + kSlot + " " + story.at("r2");
    const std::string ask_r2 = "ASK " + kSlot + " " + story.at("r2");
    story.ask("r1", {"SET", a, "1"});
    story.ask("r1", {"SET", b, "2", "PX", "100000"});
    story.open();
    EXPECT_EQ(story.ask("r1", {"GET", a}).text, "1");
    EXPECT_EQ(story.ask("r1", {"GET", fresh}).text, ask_r2);
    EXPECT_EQ(story.ask("r1", {"MGET", a, fresh}).error_code(), "TRYAGAIN");
    EXPECT_EQ(story.ask("r2", {"GET", fresh}).text, moved_to_r1);
    EXPECT_EQ(story.ask("r3", {"GET", a}).text, moved_to_r1);
    EXPECT_EQ(story.asking("r2", {"SET", fresh, "3"}).text, "OK");
    EXPECT_EQ(story.asking("r2", {"MGET", a, fresh}).error_code(), "TRYAGAIN");
    EXPECT_EQ(story.carry(a).text, "OK");
    EXPECT_EQ(story.carry(a).text, "NOKEY");
    EXPECT_EQ(story.ask("r1", {"GET", a}).text, ask_r2);
    EXPECT_EQ(story.asking("r2", {"GET", a}).text, "1");
    EXPECT_EQ(story.asking("r2", {"MGET", a, fresh}).items.size(), 2u) << "it has both";
    EXPECT_EQ(story.ask("r1", {"CLUSTER", "SETSLOT", kSlot, "NODE", story.id_of("r2")}).error_code(), "ERR")
        << "it has a key there still";
    EXPECT_EQ(story.carry(b).text, "OK");
    story.close();
    EXPECT_EQ(story.ask("r1", {"GET", a}).text, moved_to_r2);
    EXPECT_EQ(story.ask("r2", {"MGET", a, b, fresh}).items.size(), 3u);
    EXPECT_GT(story.ask("r2", {"PTTL", b}).integer, 50'000);
    for (const char* const node : {"r3", "r4", "r5", "r6"}) {
      EXPECT_TRUE(scene.comes_to([&] { return story.ask(node, {"GET", a}).text == moved_to_r2; })) << node;
    }
    const auto at_replica = [&](const std::string& node) {
      return story.ask(node, {"CLUSTER", "COUNTKEYSINSLOT", kSlot}).integer;
    };
    EXPECT_TRUE(scene.comes_to([&] { return at_replica("r4") == 0 && at_replica("r5") == 3; }))
        << "replicas are told";
    EXPECT_EQ(story.ask_all("r5", {{"READONLY"}, {"GET", a}}).text, "1");
    EXPECT_TRUE(scene.told.empty());
    // What it was told outlives a restart.
    scene.cluster.find("r3")->crash();
    scene.cluster.find("r3")->restart(true);
    EXPECT_TRUE(scene.comes_to([&] { return story.ask("r3", {"GET", a}).text == moved_to_r2; }));
  });
}

// The target does not answer: the key stays where it was, whether or not it arrives there, too.
TEST_P(SlotMigration, ATransferThatFailsLeavesTheKeyWhereItWas) {
  run([](Scene& scene, Story& story) {
    const std::string key = kTag + "a";
    story.ask("r1", {"SET", key, "1"});
    story.open();
    scene.cluster.find("r2")->pause();
    EXPECT_EQ(story.carry(key, "300").error_code(), "IOERR");
    EXPECT_EQ(story.ask("r1", {"GET", key}).text, "1");
    scene.cluster.find("r2")->resume();
    EXPECT_TRUE(scene.comes_to([&] {
      const redis::Reply reply = story.carry(key);
      return reply.text == "OK" || reply.text.find("BUSYKEY") != std::string::npos;
    }));
    EXPECT_EQ(story.asking("r2", {"GET", key}).text, "1");
  });
}

TEST_P(SlotMigration, AClientFollowsEachKey) {
  run([](Scene& scene, Story& story) {
    run_client(scene, "c1", [&](redis::Client& client, Process& process) {
      const std::string a = kTag + "a", b = kTag + "b", fresh = kTag + "fresh";
      const redis::Script both{"both", "return redis.call('mget', KEYS[1], KEYS[2])",
                               "669b4f630d8b2fcabf4f2107037cba641c5e64b7"};
      const auto call_both = [&](Duration patience) {
        const std::array<std::string_view, 2> keys = {a, b};
        return client.eval(both, keys, {}, {.deadline = process.runtime().now() + patience});
      };
      const auto node_of = [&](std::initializer_list<std::string_view> command) {
        const redis::Answer answer = client.call(command);
        return answer.reply.is_error() ? answer.reply.text : std::string(answer.node);
      };
      EXPECT_EQ(node_of({"SET", a, "1"}), story.at("r1"));
      EXPECT_EQ(node_of({"SET", b, "2"}), story.at("r1"));
      story.open();
      EXPECT_EQ(node_of({"GET", a}), story.at("r1"));
      EXPECT_EQ(node_of({"SET", fresh, "3"}), story.at("r2"));
      EXPECT_EQ(node_of({"GET", fresh}), story.at("r2"));
      EXPECT_EQ(story.carry(a).text, "OK");
      EXPECT_EQ(node_of({"GET", a}), story.at("r2"));
      EXPECT_EQ(node_of({"GET", b}), story.at("r1")) << "the slot is still there";
      try {  // one key here and one there: nobody can
        call_both(500ms);
        ADD_FAILURE() << "it did not throw";
      } catch (const redis::Error& error) {
        EXPECT_FALSE(error.may_have_executed());
        EXPECT_TRUE(error.worth_another_attempt());
        EXPECT_NE(std::string(error.what()).find("TRYAGAIN"), std::string::npos) << error.what();
      }
      const Task rest = process.runtime().spawn("administrator", [&] {
        process.runtime().sleep_for(300ms);
        story.carry_all();
        process.runtime().sleep_for(300ms);
        story.close();
      });
      EXPECT_EQ(call_both(20s).reply.items.size(), 2u) << "it waits until it can be done";
      EXPECT_EQ(node_of({"GET", b}), story.at("r2"));
    });
  });
}

// A lock's key moves while it is held: the lease goes on. What needs several keys waits for the end of the
// move: a waiter, and a release.
TEST_P(SlotMigration, ALockIsHeldThroughIt) {
  run([](Scene& scene, Story& story) {
    std::vector<std::string> order;
    const std::string key = kTag + "lock";
    bool held = false, waits = false;
    const Task waiter = scene.world.harness().runtime().spawn("waiter", [&] {
      run_client(scene, "c2", [&](redis::Client& client, Process& process) {
        while (!held) process.runtime().sleep_for(10ms);
        ReentrantLocks locks(client, {.lease = 2s});
        const std::shared_ptr<Lock> lock = locks.obtain(key);
        EXPECT_FALSE(lock->try_lock());
        waits = true;
        lock->lock();
        order.emplace_back("granted again");
        EXPECT_TRUE(lock->is_held_by_me());
        lock->unlock();
      });
    });
    run_client(scene, "c1", [&](redis::Client& client, Process& process) {
      Runtime& runtime = process.runtime();
      ReentrantLocks locks(client, {.lease = 2s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      held = true;
      while (!waits) runtime.sleep_for(10ms);
      story.open();
      runtime.sleep_for(2500ms);
      EXPECT_TRUE(lock->is_held_by_me()) << "renewed where it is";
      story.carry_all();
      runtime.sleep_for(2500ms);
      EXPECT_TRUE(lock->is_held_by_me()) << "renewed where it has gone";
      const Task rest = runtime.spawn("administrator", [&] {
        runtime.sleep_for(500ms);
        story.close();
      });
      order.emplace_back("released");
      lock->unlock();
    });
    while (order.size() < 2) scene.world.harness().runtime().sleep_for(10ms);
    EXPECT_EQ(order, (std::vector<std::string>{"released", "granted again"}));
  });
}

// A node is taken in, gets a slot, gives it back and is forgotten.
TEST_P(SlotMigration, ANodeIsForgottenAndMetAgain) {
  run([](Scene& scene, Story& story) {
    const std::vector<std::string> others = {"r1", "r2", "r4", "r5"};
    const auto known = [&](const std::string& node) {
      const std::string text = story.ask(node, {"CLUSTER", "NODES"}).text;
      return std::count(text.begin(), text.end(), '\n');
    };
    const std::string leaves = story.id_of("r6");
    EXPECT_EQ(story.ask("r6", {"CLUSTER", "FORGET", story.id_of("r3")}).text, "ERR Can't forget my master!");
    EXPECT_EQ(story.ask("r6", {"CLUSTER", "RESET", "HARD"}).text, "OK");
    EXPECT_EQ(known("r6"), 1);
    EXPECT_NE(story.id_of("r6"), leaves);
    for (const char* const node : {"r1", "r2", "r3", "r4", "r5"})
      EXPECT_EQ(story.ask(node, {"CLUSTER", "FORGET", leaves}).text, "OK") << node;
    scene.world.harness().runtime().sleep_for(3s);
    for (const char* const node : {"r1", "r2", "r3", "r4", "r5"}) EXPECT_EQ(known(node), 5) << node;
    EXPECT_EQ(known("r6"), 1) << "nobody has brought it back";
    EXPECT_EQ(scene.told, std::vector<std::string>{"r6 primary"});
    // r1 meets it; the others hear of it.
    const std::string line = [&] {
      const std::string text = story.ask("r6", {"CLUSTER", "NODES"}).text;
      return text.substr(text.find('@') + 1);
    }();
    const Endpoint at = scene.cluster.find("r6")->endpoint();
    EXPECT_EQ(
        story.ask("r1", {"CLUSTER", "MEET", at.host, std::to_string(at.port), line.substr(0, line.find(' '))})
            .text,
        "OK");
    for (const char* const node : {"r1", "r2", "r3", "r4", "r5", "r6"})
      EXPECT_TRUE(scene.comes_to([&] { return known(node) == 6; })) << node;
    EXPECT_EQ(story.ask("r6", {"CLUSTER", "REPLICATE", story.id_of("r3")}).text, "OK");
    EXPECT_TRUE(scene.comes_to([&] { return scene.told.back() == "r6 replica"; }));
    EXPECT_TRUE(scene.comes_to([&] {
      return story.ask("r3", {"CLUSTER", "REPLICAS", story.id_of("r3")}).items.size() == 1;
    }));
    // And it is elected when its primary dies.
    EXPECT_TRUE(scene.comes_to([&] { return story.ask("r6", {"ROLE"}).items.at(3).text == "connected"; }));
    scene.world.harness().runtime().sleep_for(2s);
    scene.cluster.find("r3")->crash();
    EXPECT_TRUE(scene.comes_to([&] { return scene.role_of("r6") == "master"; }));
  });
}

TEST_P(SlotMigration, LinksGoBothWays) {
  run([](Scene& scene, Story& story) {
    std::set<std::string> others;
    for (const char* const node : {"r2", "r3", "r4", "r5", "r6"}) {
      others.insert("to " + story.id_of(node));
      others.insert("from " + story.id_of(node));
    }
    std::set<std::string> links;
    EXPECT_TRUE(scene.comes_to([&] {
      links.clear();
      for (const redis::Reply& link : story.ask("r1", {"CLUSTER", "LINKS"}).items) {
        EXPECT_EQ(link.items.size(), 12u);
        if (link.items.size() != 12) return true;
        EXPECT_EQ(link.items[0].text, "direction");
        EXPECT_EQ(link.items[2].text, "node");
        EXPECT_EQ(link.items[4].text, "create-time");
        EXPECT_GT(link.items[5].integer, 0);
        EXPECT_EQ(link.items[6].text, "events");
        EXPECT_EQ(link.items[8].text, "send-buffer-allocated");
        EXPECT_EQ(link.items[10].text, "send-buffer-used");
        links.insert(link.items[1].text + " " + link.items[3].text);
      }
      return links.size() == others.size();
    }));
    EXPECT_EQ(links, others);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, SlotMigration, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

}  // namespace
}  // namespace holdfast::sim
