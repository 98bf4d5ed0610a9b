// Wake-ups in a Redis Cluster go over sharded channels in the slot of the lock: what passes between the
// nodes, what becomes of a wait when its slot moves or its node dies, and when "held" is believed. The same
// story in both worlds.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "lib/redis/client.h"
#include "lib/redis/hash_slot.h"
#include "sim/cluster/testing/scene.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// A key of the primary of that number; what differs stands between these two.
std::string key_of(int primary, const std::string& prefix = "k", const std::string& suffix = "") {
  const auto [first, last] =
      first_slots_of({.topology = Topology::cluster}, static_cast<std::size_t>(primary));
  for (int i = 0;; ++i) {
    std::string key = prefix + std::to_string(i) + suffix;
    const int slot = redis::hash_slot(key);
    if (slot >= first && slot <= last) return key;
  }
}

const std::vector<std::string> kNodes = {"r1", "r2", "r3", "r4", "r5", "r6"};

struct Story {
  Scene& scene;

  // A process of its own with a client of the Cluster, and what it does.
  void start(const std::string& name, std::function<void(redis::Client&, Runtime&)> body) {
    Process& process = scene.world.add_process(name);
    ++running;
    process.start("client", [this, &process, body = std::move(body)] {
      {
        redis::Client client(process.runtime(), process.network(),
                             {.nodes = {{"", scene.cluster.find("r1")->endpoint()},
                                        {"", scene.cluster.find("r2")->endpoint()},
                                        {"", scene.cluster.find("r3")->endpoint()}},
                              .cluster = true,
                              .command_timeout = 30s});
        body(client, process.runtime());
      }
      --running;
    });
  }
  void await(const std::function<bool()>& condition, const char* what) {
    ASSERT_TRUE(scene.comes_to(condition)) << what;
  }
  void end() {
    await([&] { return running == 0; }, "everybody is done");
  }
  // How many listen to sharded channels at that node.
  std::size_t listeners(const std::string& node) {
    return scene.ask(node, {"PUBSUB", "SHARDCHANNELS"}).items.size();
  }
  // How often the servers have executed that, all together.
  std::int64_t calls(const std::string& command) {
    std::int64_t all = 0;
    const std::string name = "cmdstat_" + command + ":calls=";
    for (const std::string& node : kNodes) {
      const std::string text = scene.ask(node, {"INFO", "commandstats"}).text;
      if (const std::size_t at = text.find(name); at != std::string::npos)
        all += std::stoll(text.substr(at + name.size()));
    }
    return all;
  }
  std::size_t waiting(const std::string& node, const std::string& key) {
    return static_cast<std::size_t>(scene.ask(node, {"ZCARD", "holdfast:fair:queue:{" + key + "}"}).integer);
  }
  std::string id_of(const std::string& node) { return scene.ask(node, {"CLUSTER", "MYID"}).text; }

  // The slot of `key` goes from r1 to r2.
  void open(const std::string& slot) {
    EXPECT_EQ(scene.ask("r2", {"CLUSTER", "SETSLOT", slot, "IMPORTING", id_of("r1")}).text, "OK");
    EXPECT_EQ(scene.ask("r1", {"CLUSTER", "SETSLOT", slot, "MIGRATING", id_of("r2")}).text, "OK");
  }
  void carry_all(const std::string& slot) {
    const Endpoint to = scene.cluster.find("r2")->endpoint();
    for (const redis::Reply& key : scene.ask("r1", {"CLUSTER", "GETKEYSINSLOT", slot, "1000"}).items) {
      EXPECT_EQ(scene.ask("r1", {"MIGRATE", to.host, std::to_string(to.port), key.text, "0", "5000"}).text,
                "OK");
    }
  }
  void close(const std::string& slot) {
    const std::string id = id_of("r2");
    EXPECT_EQ(scene.ask("r2", {"CLUSTER", "SETSLOT", slot, "NODE", id}).text, "OK");
    EXPECT_EQ(scene.ask("r1", {"CLUSTER", "SETSLOT", slot, "NODE", id}).text, "OK");
  }

  int running = 0;
};

class ClusterWake : public ::testing::TestWithParam<bool> {
 protected:
  static void run(const std::function<void(Story&)>& body) {
    in_scene(GetParam(), {.topology = Topology::cluster, .nodes = kNodes}, [&](Scene& scene) {
      Story story{scene};
      body(story);
    });
  }
};

// They listen to a plain channel, on whichever node.
TEST_P(ClusterWake, ClientsOfRedissonHearOfAReleaseOverTheirChannel) {
  run([](Story& story) {
    const std::string key = key_of(0);
    std::string heard;
    bool listens = false, over = false;
    story.start("java", [&](redis::Client& client, Runtime& runtime) {
      const auto theirs = client.subscribe(
          "redisson_lock__channel:{" + key + "}", [&](std::string_view message) { heard = message; },
          [&] { listens = true; });
      while (!over) runtime.sleep_for(5ms);
    });
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      RedissonLocks locks(client, {.lease = 60s});
      const auto lock = locks.obtain(key);
      lock->lock();
      while (!listens) runtime.sleep_for(5ms);
      lock->unlock();
    });
    story.await([&] { return !heard.empty(); }, "they are told");
    EXPECT_EQ(heard, "0");
    over = true;
    story.end();
  });
}

// Wherever the key lives: the release makes the waiter the holder, who asks nothing more; and no message
// leaves the shard.
TEST_P(ClusterWake, TheReleaseMakesAWaiterTheHolderAndNothingGoesOverTheBus) {
  run([](Story& story) {
    bool held = false, release = false;
    int granted = 0;
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      FairLocks locks(client, {.lease = 60s});
      std::vector<std::shared_ptr<Lock>> all;
      for (int i = 0; i < 3; ++i) {
        all.push_back(locks.obtain(key_of(i)));
        all.back()->lock();
      }
      held = true;
      while (!release) runtime.sleep_for(5ms);
      for (const auto& lock : all) lock->unlock();
    });
    story.await([&] { return held; }, "held");
    for (int i = 0; i < 3; ++i) {
      story.start("w" + std::to_string(i), [&, i](redis::Client& client, Runtime& runtime) {
        FairLocks locks(client, {.lease = 60s});
        const std::shared_ptr<Lock> lock = locks.obtain(key_of(i));
        std::uint64_t before = 0;
        const Task look = runtime.spawn("look", [&] {
          while (!release) {
            before = client.statistics().commands;
            runtime.sleep_for(1ms);
          }
        });
        lock->lock();
        EXPECT_EQ(client.statistics().commands, before) << "it asked nothing more: the message was enough";
        ++granted;
        lock->unlock();
      });
    }
    for (int i = 0; i < 3; ++i) {
      const std::string node = "r" + std::to_string(i + 1);
      story.await([&] { return story.waiting(node, key_of(i)) == 1 && story.listeners(node) == 1; },
                  "each listens where its key is");
    }
    story.scene.world.harness().runtime().sleep_for(300ms);  // for the request that follows the subscription
    release = true;
    story.end();
    EXPECT_EQ(granted, 3);
    EXPECT_EQ(story.calls("publish"), 0);
    EXPECT_EQ(story.calls("spublish"), 3);
    EXPECT_EQ(story.calls("subscribe"), 0);
  });
}

// The other kinds, and the latch.
TEST_P(ClusterWake, EveryKindIsCalledThroughTheShard) {
  run([](Story& story) {
    bool held = false, release = false;
    int granted = 0;
    const auto at_all = [](redis::Client& client) {
      std::vector<std::shared_ptr<Lock>> all;
      const LockOptions options{.lease = 60s, .fencing = true};
      all.push_back(ReentrantLocks(client, options).obtain(key_of(0, "reentrant")));
      all.push_back(ReadWriteLocks(client, {.lock = options}).obtain(key_of(1, "rw}{", "}")));
      all.push_back(Semaphores(client, {.lock = options, .permits = 1}).obtain(key_of(2, "semaphore{}")));
      all.push_back(ReentrantLocks(client, options).obtain(key_of(0, std::string("{\xff:\0 y", 6), "}z")));
      return all;
    };
    constexpr int kKinds = 4;
    const std::string gate = key_of(1, "latch");
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      const auto all = at_all(client);
      for (const auto& lock : all) lock->lock();
      CountDownLatch latch(client, gate);
      EXPECT_TRUE(latch.set(1));
      held = true;
      while (!release) runtime.sleep_for(5ms);
      for (const auto& lock : all) lock->unlock();
      latch.count_down();
    });
    story.await([&] { return held; }, "held");
    for (int i = 0; i < kKinds; ++i) {
      story.start("w" + std::to_string(i), [&, i](redis::Client& client, Runtime&) {
        const auto all = at_all(client);
        all[static_cast<std::size_t>(i)]->lock();
        ++granted;
        all[static_cast<std::size_t>(i)]->unlock();
      });
    }
    story.start("wl", [&](redis::Client& client, Runtime&) {
      CountDownLatch(client, gate, {.look_again = 1h}).await();
      ++granted;
    });
    story.await(
        [&] { return story.listeners("r1") + story.listeners("r2") + story.listeners("r3") == kKinds + 1; },
        "they listen");
    story.scene.world.harness().runtime().sleep_for(300ms);
    const MonotonicTime began = story.scene.world.harness().runtime().now();
    release = true;
    story.end();
    EXPECT_LT(story.scene.world.harness().runtime().now() - began, 20s) << "not at the end of a lease";
    EXPECT_EQ(granted, kKinds + 1);
    EXPECT_EQ(story.calls("publish"), 0);
  });
}

// The slot moves while somebody waits: the subscription goes with it.
TEST_P(ClusterWake, AWaitGoesWithItsSlot) {
  run([](Story& story) {
    const std::string key = key_of(0), slot = std::to_string(redis::hash_slot(key));
    bool held = false, release = false, granted = false;
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      ReentrantLocks locks(client, {.lease = 60s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      held = true;
      while (!release) runtime.sleep_for(5ms);
      lock->unlock();
    });
    story.await([&] { return held; }, "held");
    story.start("w", [&](redis::Client& client, Runtime&) {
      ReentrantLocks locks(client, {.lease = 60s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      granted = true;
      lock->unlock();
    });
    story.await([&] { return story.listeners("r1") == 1 && story.waiting("r1", key) == 1; }, "it waits");
    story.open(slot);
    story.carry_all(slot);
    story.close(slot);
    story.await([&] { return story.listeners("r2") == 1 && story.listeners("r1") == 0; }, "it listens there");
    story.scene.world.harness().runtime().sleep_for(300ms);
    release = true;
    story.await([&] { return granted; }, "called at the other node");
    story.end();
    EXPECT_EQ(story.calls("publish"), 0);
  });
}

// Released where the keys have gone already, while the slot has not: who waits hears of it at the end of the
// move.
TEST_P(ClusterWake, AReleaseDuringAMoveIsHeardAtItsEnd) {
  run([](Story& story) {
    const std::string key = key_of(0), slot = std::to_string(redis::hash_slot(key));
    bool held = false, release = false, released = false, granted = false;
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      ReentrantLocks locks(client, {.lease = 60s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      held = true;
      while (!release) runtime.sleep_for(5ms);
      lock->unlock();
      released = true;
    });
    story.await([&] { return held; }, "held");
    story.start("w", [&](redis::Client& client, Runtime&) {
      ReentrantLocks locks(client, {.lease = 60s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      granted = true;
      lock->unlock();
    });
    story.await([&] { return story.listeners("r1") == 1 && story.waiting("r1", key) == 1; }, "it waits");
    story.scene.world.harness().runtime().sleep_for(300ms);
    story.open(slot);
    story.carry_all(slot);
    release = true;
    story.await([&] { return released; }, "all that it needs is at r2");
    EXPECT_FALSE(granted);
    story.close(slot);
    story.await([&] { return granted; }, "asked at the new node");
    story.end();
  });
}

// "held" heard from another node than the one that refused is no more than a call to ask: it may be a replica
// by now, which is told what its primary says to somebody else.
TEST_P(ClusterWake, HeldIsBelievedOnlyOfTheNodeThatRefused) {
  run([](Story& story) {
    const std::string key = key_of(0), slot = std::to_string(redis::hash_slot(key));
    const std::string queue = "holdfast:fair:queue:{" + key + "}";
    const std::string patience = "holdfast:fair:patience:{" + key + "}";
    bool held = false, release = false, holds = false, granted = false;
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      ReentrantLocks locks(client, {.lease = 60s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      held = holds = true;
      while (!release) runtime.sleep_for(5ms);
      holds = false;
      lock->unlock();
    });
    story.await([&] { return held; }, "held");
    story.start("w", [&](redis::Client& client, Runtime&) {
      ReentrantLocks locks(client, {.lease = 60s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      EXPECT_FALSE(holds);
      granted = true;
      lock->unlock();
    });
    story.await([&] { return story.listeners("r1") == 1 && story.waiting("r1", key) == 1; }, "it waits");
    Runtime& runtime = story.scene.world.harness().runtime();
    runtime.sleep_for(300ms);
    const std::string channel = story.scene.ask("r1", {"PUBSUB", "SHARDCHANNELS"}).items.at(0).text;
    const std::string owner = story.scene.ask("r1", {"ZRANGE", queue, "0", "0"}).items.at(0).text;
    story.open(slot);
    story.carry_all(slot);
    // It asks, at r2, which has the keys; and listens at r1, which has the slot.
    const auto asking = [&](const std::vector<std::string>& command) {
      const MonotonicTime deadline = deadline_after(runtime.now(), 10s);
      ServerConnection connection(story.scene.world.harness().network(),
                                  story.scene.cluster.find("r2")->endpoint(), deadline);
      connection.call({"ASKING"}, deadline);
      return connection.call(command, deadline).text;
    };
    const std::string before = asking({"ZSCORE", patience, owner});
    EXPECT_EQ(story.scene.ask("r1", {"SPUBLISH", channel, owner + " 0"}).integer, 1);
    story.await([&] { return asking({"ZSCORE", patience, owner}) != before; }, "refused there");
    runtime.sleep_for(300ms);
    const std::string ticket = asking({"ZSCORE", patience, owner});
    EXPECT_EQ(story.scene.ask("r1", {"SPUBLISH", channel, owner + " held " + ticket}).integer, 1);
    runtime.sleep_for(1s);
    EXPECT_FALSE(granted);
    story.close(slot);
    story.await([&] { return story.listeners("r2") == 1; }, "it listens there");
    runtime.sleep_for(300ms);
    release = true;
    story.end();
    EXPECT_TRUE(granted);
  });
}

// Its node dies: it listens at the replica that was elected, and is called there.
TEST_P(ClusterWake, AWaitOutlivesItsNode) {
  run([](Story& story) {
    const std::string key = key_of(0);
    bool held = false, release = false, granted = false;
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      FairLocks locks(client, {.lease = 300s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      held = true;
      while (!release) runtime.sleep_for(5ms);
      lock->unlock();
    });
    story.await([&] { return held; }, "held");
    story.start("w", [&](redis::Client& client, Runtime&) {
      FairLocks locks(client, {.lease = 300s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      granted = true;
      lock->unlock();
    });
    story.await([&] { return story.listeners("r1") == 1 && story.waiting("r1", key) == 1; }, "it waits");
    story.await([&] { return story.scene.ask("r1", {"WAIT", "1", "100"}).integer == 1; }, "replicated");
    story.scene.world.harness().runtime().sleep_for(1s);
    story.scene.cluster.find("r1")->crash();
    story.await([&] { return story.scene.role_of("r4") == "master"; }, "elected");
    story.await([&] { return story.listeners("r4") == 1; }, "it listens there");
    story.scene.world.harness().runtime().sleep_for(500ms);
    release = true;
    story.await([&] { return granted; }, "called by the new primary");
    story.end();
  });
}

// A primary gives way to its replica on request: it tells who listens, and they follow.
TEST_P(ClusterWake, AWaitFollowsAnOrderlyFailover) {
  run([](Story& story) {
    const std::string key = key_of(0);
    bool held = false, release = false, granted = false;
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      FairLocks locks(client, {.lease = 300s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      held = true;
      while (!release) runtime.sleep_for(5ms);
      lock->unlock();
    });
    story.await([&] { return held; }, "held");
    story.start("w", [&](redis::Client& client, Runtime&) {
      FairLocks locks(client, {.lease = 300s});
      const std::shared_ptr<Lock> lock = locks.obtain(key);
      lock->lock();
      granted = true;
      lock->unlock();
    });
    story.await([&] { return story.listeners("r1") == 1 && story.waiting("r1", key) == 1; }, "it waits");
    EXPECT_EQ(story.scene.ask("r4", {"CLUSTER", "FAILOVER"}).text, "OK");
    story.await([&] { return story.listeners("r4") == 1 && story.listeners("r1") == 0; }, "it went there");
    story.scene.world.harness().runtime().sleep_for(500ms);
    release = true;
    story.await([&] { return granted; }, "called by the new primary");
    story.end();
  });
}

// One process waits for many keys: one connection a node carries it all, and nothing of it stays.
TEST_P(ClusterWake, ManyKeysShareOneConnectionANode) {
  run([](Story& story) {
    constexpr int kKeys = 300;
    bool held = false, release = false;
    int granted = 0;
    story.start("c1", [&](redis::Client& client, Runtime& runtime) {
      ReentrantLocks locks(client, {.lease = 300s});
      std::vector<std::shared_ptr<Lock>> all;
      for (int i = 0; i < kKeys; ++i) {
        all.push_back(locks.obtain("many" + std::to_string(i)));
        all.back()->lock();
      }
      held = true;
      while (!release) runtime.sleep_for(5ms);
      for (const auto& lock : all) lock->unlock();
    });
    story.await([&] { return held; }, "held");
    story.start("w", [&](redis::Client& client, Runtime& runtime) {
      ReentrantLocks locks(client, {.lease = 300s});
      std::vector<Task> tasks;
      for (int i = 0; i < kKeys; ++i) {
        tasks.push_back(runtime.spawn("waiter", [&, i] {
          const std::shared_ptr<Lock> lock = locks.obtain("many" + std::to_string(i));
          lock->lock();
          ++granted;
          lock->unlock();
        }));
      }
      tasks.clear();
      const auto listeners = [&] {
        return story.listeners("r1") + story.listeners("r2") + story.listeners("r3");
      };
      while (granted < kKeys) runtime.sleep_for(5ms);
      EXPECT_LE(client.statistics().connections, 12u)
          << "for calls, renewals and subscriptions, of each node";
      while (listeners() > 0) runtime.sleep_for(100ms);
    });
    story.await(
        [&] { return story.listeners("r1") + story.listeners("r2") + story.listeners("r3") == kKeys; },
        "it listens to all");
    story.scene.world.harness().runtime().sleep_for(500ms);
    release = true;
    story.end();
    EXPECT_EQ(granted, kKeys);
    EXPECT_EQ(story.calls("publish"), 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, ClusterWake, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "embedded" : "real"; });

}  // namespace
}  // namespace holdfast::sim
