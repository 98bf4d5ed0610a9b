// PostgreSQL's locks on real servers: what each promises as a Lock, and what a failover does to them.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "lib/lock/waiting/wakeup.h"
#include "lib/testing/folders.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/comparators/engine.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/proxy/testing/rig.h"
#include "sim/scenario/judge.h"
#include "sim/scenario/run.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

const Engine& postgresql() { return *find_engine("postgresql"); }

#define SKIP_WITHOUT_POSTGRESQL() \
  if (!postgresql().missing().empty()) GTEST_SKIP() << postgresql().missing()

// One server and what two clients know of it, in a real world. All of it on one task of the harness.
class Scene {
 public:
  explicit Scene(World& world) : world_(world), proxy_(world) {
    proxy_.make_opaque();
    cluster_ = postgresql().make(world, proxy_, {});
    cluster_->start();
    doors_ = open_doors(proxy_, *cluster_, {"c1", "c2"});
  }

  // That kind of lock of the key "k", as client `name` has it.
  Lock& lock(const std::string& name, const LockKind& kind, Duration lease = 5min) {
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

// For each kind of lock of PostgreSQL, on one server.
void with_each(const std::function<void(Scene&, const LockKind&)>& body) {
  const auto world = testing::make_world(testing::Kind::real);
  std::unique_ptr<Scene> scene;  // goes before the world, and after its tasks
  world->run([&] {
    scene = std::make_unique<Scene>(*world);
    for (const LockKind& kind : postgresql().locks) {
      SCOPED_TRACE(kind.name);
      body(*scene, kind);
      scene->forget_locks();
    }
  });
}

TEST(PostgresLocks, EachIsExclusiveAndGivenBack) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each([](Scene& scene, const LockKind& kind) {
    Lock& mine = scene.lock("c1", kind);
    Lock& other = scene.lock("c2", kind);
    EXPECT_FALSE(mine.is_held_by_me());
    EXPECT_THROW(mine.release(), NotOwner);
    ASSERT_TRUE(mine.try_lock());
    EXPECT_TRUE(mine.is_held_by_me());
    EXPECT_NE(mine.acquisition(), "");
    EXPECT_EQ(mine.valid_until().has_value(), kind.promises_validity);
    EXPECT_EQ(mine.token().has_value(), kind.tokens);
    EXPECT_THROW(static_cast<void>(mine.try_lock()), WouldDeadlock);
    const std::optional<std::uint64_t> first = mine.token();
    EXPECT_FALSE(other.try_lock());
    const MonotonicTime asked = scene.runtime().now();
    EXPECT_FALSE(other.try_lock_for(150ms));
    EXPECT_GE(scene.runtime().now() - asked, 140ms);
    EXPECT_FALSE(other.is_held_by_me());
    mine.release();
    EXPECT_FALSE(mine.is_held_by_me());
    other.lock();
    EXPECT_GE(other.token(), first);
    EXPECT_EQ(other.token() == first, !kind.tokens);
    EXPECT_FALSE(mine.try_lock());
    other.release();
    EXPECT_TRUE(mine.try_lock_for(5min));
    mine.release();
  });
}

TEST(PostgresLocks, AWaiterIsServedOrStopped) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each([](Scene& scene, const LockKind& kind) {
    Lock& mine = scene.lock("c1", kind);
    Lock& other = scene.lock("c2", kind);
    mine.lock();
    std::stop_source stop;
    bool stopped = false, served = false;
    Task first = scene.runtime().spawn("stopped", [&] {
      EXPECT_THROW(other.lock_interruptibly(stop.get_token()), Interrupted);
      stopped = true;
    });
    scene.runtime().sleep_for(50ms);
    EXPECT_FALSE(stopped);
    stop.request_stop();
    first.join();
    Task second = scene.runtime().spawn("served", [&] {
      other.lock();
      served = true;
      other.release();
    });
    scene.runtime().sleep_for(50ms);
    EXPECT_FALSE(served);
    mine.release();
    second.join();
    EXPECT_TRUE(served);
  });
}

// A session goes with its server; a row that was committed does not.
TEST(PostgresLocks, TheKillOfTheServerIsToldToWhoHoldsBySession) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each([](Scene& scene, const LockKind& kind) {
    const bool by_session = !kind.promises_validity;
    Lock& mine = scene.lock("c1", kind);
    mine.lock();
    const std::stop_token lost = mine.lost();
    scene.node().crash();
    EXPECT_EQ(scene.told(lost, by_session ? Duration(5min) : Duration(300ms)), by_session);
    EXPECT_EQ(mine.is_held_by_me(), !by_session);
    scene.node().restart(true);
    Lock& other = scene.lock("c2", kind);
    EXPECT_EQ(other.try_lock(), by_session);
    if (by_session) {
      EXPECT_THROW(mine.release(), LockLost);
    } else {
      mine.release();
    }
  });
}

// Cut off, nobody tells: a lease ends all the same, on both sides.
TEST(PostgresLocks, ALeaseEndsOnBothSidesOfAPartition) {
  SKIP_WITHOUT_POSTGRESQL();
  with_each([](Scene& scene, const LockKind& kind) {
    if (!kind.promises_validity) return;
    Lock& mine = scene.lock("c1", kind, 2s);
    mine.lock();
    const std::stop_token lost = mine.lost();
    const MonotonicTime promised = *mine.valid_until();
    const RuleId cut = scene.proxy().add_rule(make_partition_rule(
        [](const Link& link) { return Lanes{.request = link.from == "c1", .reply = link.from == "c1"}; }));
    EXPECT_TRUE(scene.told(lost, 5min));
    EXPECT_GE(scene.runtime().now(), promised);
    EXPECT_TRUE(scene.lock("c2", kind).try_lock_for(5min));
    scene.proxy().heal_rule(cut);
    EXPECT_THROW(mine.release(), LockLost);
  });
}

RunResult run_real(const Scenario& scenario, std::uint64_t seed) {
  const TemporaryFolder folder;
  return run_once(scenario, {.embedded = false, .seed = seed, .folder = folder.path(), .keep_history = true});
}

void expect_met(const Scenario& scenario, std::uint64_t seeds) {
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

TEST(PostgresScenarios, AReplicaThatLagsGrantsAgainUnlessGrantsWaitForIt) {
  SKIP_WITHOUT_POSTGRESQL();
  const std::string file = holdfast::testing::source_path("scenarios/comparators/failover.toml");
  const std::vector<Override> small = {{"workload.stock", std::int64_t{3}}, {"workload.think", "50ms..80ms"}};
  for (const char* const variant : {"", "synchronous"}) expect_met(read_scenario(file, variant, small), 1);
}

TEST(LongPostgresScenarios, AllMeetTheirExpectations) {
  SKIP_WITHOUT_POSTGRESQL();
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(holdfast::testing::source_path("scenarios/comparators"))) {
    if (entry.path().extension() != ".toml") continue;
    for (const Scenario& scenario : read_scenarios(entry.path().string())) {
      if (scenario.cluster.engine != "postgresql") continue;
      ++files;
      expect_met(scenario, 3);
    }
  }
  EXPECT_GE(files, 20);
}

}  // namespace
}  // namespace holdfast::sim
