// What tests of engines share: servers and two clients that no scenario drives; scenarios on real servers.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/waiting/wakeup.h"
#include "lib/testing/folders.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/comparators/engine.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/proxy/testing/rig.h"
#include "sim/scenario/judge.h"
#include "sim/scenario/run.h"

namespace holdfast::sim::testing {

// Servers of an engine and what two clients know of them, in a real world. All of it on one task of the
// harness.
class Scene {
 public:
  Scene(World& world, const Engine& engine, const ClusterOptions& options = {})
      : world_(world), proxy_(world) {
    proxy_.make_opaque();
    cluster_ = engine.make(world, proxy_, options);
    cluster_->start();
    doors_ = open_doors(proxy_, *cluster_, {"c1", "c2"});
  }

  // That kind of lock of the key "k", as client `name` has it.
  Lock& lock(const std::string& name, const LockKind& kind, Duration lease = std::chrono::minutes(5)) {
    Process& harness = world_.harness();
    clients_.push_back(std::make_unique<redis::Client>(harness.runtime(), harness.network(),
                                                       redis::ClientOptions{.nodes = doors_.at(name)}));
    LockSpaceOptions options{.client = *clients_.back(), .lock = {.lease = lease}};
    options.doors = doors_.at(name);
    options.client_name = name;
    spaces_.push_back(kind.make(options));
    return *spaces_.back()->obtain("k");
  }
  void forget_locks() {
    spaces_.clear();
    clients_.clear();
  }

  ClusterNode& node() { return *cluster_->nodes().front(); }
  Cluster& cluster() { return *cluster_; }
  Proxy& proxy() { return proxy_; }
  Runtime& runtime() { return world_.harness().runtime(); }
  // [parks] Whether it is told within that time.
  bool told(const std::stop_token& lost, Duration within) {
    Wakeup(runtime()).wait_until(deadline_after(runtime().now(), within), lost);
    return lost.stop_requested();
  }

 private:
  World& world_;
  Proxy proxy_;
  std::unique_ptr<Cluster> cluster_;
  DoorsOfClients doors_;
  std::vector<std::unique_ptr<redis::Client>> clients_;
  std::vector<std::unique_ptr<LockSpace>> spaces_;
};

// On servers of that engine.
inline void with_scene(const Engine& engine, const ClusterOptions& options,
                       const std::function<void(Scene&)>& body) {
  const auto world = make_world(Kind::real);
  std::unique_ptr<Scene> scene;  // goes before the world, and after its tasks
  world->run([&] {
    scene = std::make_unique<Scene>(*world, engine, options);
    body(*scene);
    scene->forget_locks();
  });
}

// What a lock of that kind tells of itself, and that it is one client's at a time.
inline void expect_exclusive_and_given_back(Scene& scene, const LockKind& kind) {
  using std::chrono::milliseconds;
  using std::chrono::minutes;
  Lock& mine = scene.lock("c1", kind);
  Lock& other = scene.lock("c2", kind);
  EXPECT_FALSE(mine.is_held_by_me());
  EXPECT_THROW(mine.release(), NotOwner);
  ASSERT_TRUE(mine.try_lock());
  EXPECT_TRUE(mine.is_held_by_me());
  EXPECT_NE(mine.acquisition(), "");
  ASSERT_EQ(mine.valid_until().has_value(), kind.promises_validity);
  if (kind.promises_validity) {
    EXPECT_GT(*mine.valid_until(), scene.runtime().now() + minutes(4));
  }
  EXPECT_EQ(mine.token().has_value(), kind.tokens);
  EXPECT_THROW(static_cast<void>(mine.try_lock()), WouldDeadlock);
  const std::optional<std::uint64_t> first = mine.token();
  EXPECT_FALSE(other.try_lock());
  const MonotonicTime asked = scene.runtime().now();
  EXPECT_FALSE(other.try_lock_for(milliseconds(150)));
  EXPECT_GE(scene.runtime().now() - asked, milliseconds(140));
  EXPECT_FALSE(other.is_held_by_me());
  mine.release();
  EXPECT_FALSE(mine.is_held_by_me());
  other.lock();
  EXPECT_EQ(other.token() > first, kind.tokens);
  EXPECT_FALSE(mine.try_lock());
  other.release();
  EXPECT_TRUE(mine.try_lock_for(minutes(5)));
  mine.release();
}

// One that waits for a lock of that kind, and is stopped, and then another one that is served.
inline void expect_a_waiter_served_or_stopped(Scene& scene, const LockKind& kind) {
  using std::chrono::milliseconds;
  Lock& mine = scene.lock("c1", kind);
  Lock& other = scene.lock("c2", kind);
  mine.lock();
  std::stop_source stop;
  bool stopped = false, served = false;
  Task first = scene.runtime().spawn("stopped", [&] {
    EXPECT_THROW(other.lock_interruptibly(stop.get_token()), Interrupted);
    stopped = true;
  });
  scene.runtime().sleep_for(milliseconds(50));
  EXPECT_FALSE(stopped);
  stop.request_stop();
  first.join();
  Task second = scene.runtime().spawn("served", [&] {
    other.lock();
    served = true;
    other.release();
  });
  scene.runtime().sleep_for(milliseconds(50));
  EXPECT_FALSE(served);
  mine.release();
  second.join();
  EXPECT_TRUE(served);
  EXPECT_TRUE(mine.try_lock());  // who was stopped has left the queue
  mine.release();
}

inline RunResult run_real(const Scenario& scenario, std::uint64_t seed) {
  const TemporaryFolder folder;
  return run_once(scenario, {.embedded = false, .seed = seed, .folder = folder.path(), .keep_history = true});
}

inline void expect_met(const Scenario& scenario, std::uint64_t seeds) {
  Judge judge(scenario);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) judge.add(run_real(scenario, seed));
  for (std::size_t i = 0; i < scenario.expectations.size(); ++i) {
    const Tally& tally = judge.tallies()[i];
    const Tally::Result result = tally.result(scenario.expectations[i]);
    EXPECT_TRUE(result == Tally::Result::met || result == Tally::Result::too_few)
        << scenario.title() << ": " << describe(scenario.expectations[i]) << ": " << tally.first_miss
        << tally.first_unknown;
  }
}

// All files of that engine in scenarios/comparators. Returns how many scenarios, variants included.
inline int expect_all_met(const Engine& engine, std::uint64_t seeds) {
  int scenarios = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(holdfast::testing::source_path("scenarios/comparators"))) {
    if (entry.path().extension() != ".toml") continue;
    for (const Scenario& scenario : read_scenarios(entry.path().string())) {
      if (scenario.cluster.engine != engine.name) continue;
      ++scenarios;
      expect_met(scenario, seeds);
    }
  }
  return scenarios;
}

}  // namespace holdfast::sim::testing
