// Every case of conformance/cluster/*.cases, played against an embedded node of a Redis Cluster and against a
// real one, each alone. How a case is written: sim/redis/testing/oracle_case.h. What several nodes say to
// clients: sim/cluster/redis_cluster_test.cc.
#include <gtest/gtest.h>

#include <memory>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/folders.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/redis/replication.h"
#include "sim/redis/server.h"
#include "sim/redis/testing/oracle_player.h"
#include "sim/world/world.h"

namespace holdfast::sim::oracle {
namespace {

using std::chrono::milliseconds;

class Embedded final : public Target {
 public:
  explicit Embedded(World& world) : world_(world), node_(world.add_process("node")) {
    memory_->id = embedded::random_hex(runtime());
    memory_->nodes[memory_->id] = {.at = server(), .bus_port = 16379};
    node_.start("server", [this, memory = memory_] {
      RedisServerOptions options{.listen = server(), .primary = {}};
      embedded::ClusterNodeOptions& cluster = options.cluster.emplace();
      cluster.bus = {node_.address(), 16379};
      cluster.memory = memory.get();
      RedisServer own(node_.runtime(), node_.network(), options);
      own.serve();
    });
    advance(milliseconds(100));
  }
  Runtime& runtime() override { return world_.harness().runtime(); }
  Network& network() override { return world_.harness().network(); }
  Endpoint server() override { return {node_.address(), 6379}; }
  Endpoint second_server() override { return server(); }
  WallTime wall() override { return node_.runtime().wall_now(); }
  void advance(Duration by) override { runtime().sleep_for(by); }
  void nudge() override { advance(milliseconds(1)); }

 private:
  World& world_;
  Process& node_;
  const std::shared_ptr<embedded::ClusterMemory> memory_ = std::make_shared<embedded::ClusterMemory>();
};

class Real final : public Target {
 public:
  Real()
      : node_(runtime_, network_,
              {.folder = folder_.path(), .settings = {"--cluster-enabled", "yes", "--appendonly", "no"}}) {
    node_.start();
  }
  Runtime& runtime() override { return runtime_; }
  Network& network() override { return network_; }
  Endpoint server() override { return node_.endpoint(); }
  Endpoint second_server() override { return server(); }
  WallTime wall() override { return runtime_.wall_now(); }
  void advance(Duration by) override { runtime_.sleep_for(by); }
  void nudge() override { advance(milliseconds(1)); }

 private:
  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
  RedisProcess node_;
};

std::string test_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  return name;
}

class ClusterConformance : public ::testing::TestWithParam<Case> {};

TEST_P(ClusterConformance, EmbeddedAnswersAsReal) {
  for (const int protocol : {2, 3}) {
    Transcript ours;
    const std::unique_ptr<World> world = make_embedded_world({.seed = 1});
    world->run([&] {
      Embedded target(*world);
      ours = play(GetParam().steps, target, protocol);
    });
    Real target;
    const Transcript theirs = play(GetParam().steps, target, protocol);
    EXPECT_EQ(differences(ours, theirs), "") << GetParam().name << ", RESP" << protocol;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ClusterConformance,
    ::testing::ValuesIn(load_cases(holdfast::testing::source_path("sim/redis/conformance/cluster"))),
    test_name);

}  // namespace
}  // namespace holdfast::sim::oracle
