// Every case of conformance/cluster/*.cases, played against an embedded node of a Redis Cluster and against a
// real one, alone or ("[pair]") with a second one. How a case is written: sim/redis/testing/oracle_case.h.
// What more of them say to clients: sim/cluster/.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

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

constexpr std::chrono::milliseconds kNodeTimeout{2000};

class Embedded final : public Target {
 public:
  explicit Embedded(World& world) : world_(world) {
    for (Node& node : nodes_) {
      node.process = &world.add_process(node.name);
      node.memory->id = embedded::random_hex(runtime());
      node.memory->nodes[node.memory->id] = {.at = node.at(), .bus_port = kBusPort};
      node.process->start("server", [&process = *node.process, at = node.at(), memory = node.memory] {
        RedisServerOptions options{.listen = at, .primary = {}};
        embedded::ClusterNodeOptions& cluster = options.cluster.emplace();
        cluster.bus = {process.address(), kBusPort};
        cluster.node_timeout_ms = kNodeTimeout.count();
        cluster.memory = memory.get();
        RedisServer own(process.runtime(), process.network(), options);
        own.serve();
      });
    }
    advance(milliseconds(100));
  }
  Runtime& runtime() override { return world_.harness().runtime(); }
  Network& network() override { return world_.harness().network(); }
  Endpoint server() override { return nodes_[0].at(); }
  Endpoint second_server() override { return nodes_[1].at(); }
  std::uint16_t bus_port() override { return kBusPort; }
  std::uint16_t second_bus_port() override { return kBusPort; }
  WallTime wall() override { return nodes_[0].process->runtime().wall_now(); }
  void advance(Duration by) override { runtime().sleep_for(by); }
  void nudge() override { advance(milliseconds(1)); }

 private:
  static constexpr std::uint16_t kPort = 6379, kBusPort = 16379;
  struct Node {
    std::string name;
    Process* process = nullptr;
    std::shared_ptr<embedded::ClusterMemory> memory = std::make_shared<embedded::ClusterMemory>();
    Endpoint at() const { return {process->address(), kPort}; }
  };

  World& world_;
  std::array<Node, 2> nodes_{Node{"first"}, Node{"second"}};
};

class Real final : public Target {
 public:
  explicit Real(bool pair) {
    for (std::size_t i = 0; i < (pair ? 2 : 1); ++i) {
      const std::string folder = folder_.path() + "/" + std::to_string(i);
      nodes_[i] = std::make_unique<RedisProcess>(runtime_, network_, RedisProcessOptions{.folder = folder});
      bus_ports_[i] = choose_port(network_, nodes_[i]->endpoint().host);
      nodes_[i]->start({"--cluster-enabled", "yes", "--appendonly", "no", "--cluster-announce-ip",
                        nodes_[i]->endpoint().host, "--cluster-port", std::to_string(bus_ports_[i]),
                        "--cluster-node-timeout", std::to_string(kNodeTimeout.count())});
    }
  }
  Runtime& runtime() override { return runtime_; }
  Network& network() override { return network_; }
  Endpoint server() override { return nodes_[0]->endpoint(); }
  Endpoint second_server() override { return nodes_[1] ? nodes_[1]->endpoint() : server(); }
  std::uint16_t bus_port() override { return bus_ports_[0]; }
  std::uint16_t second_bus_port() override { return bus_ports_[1]; }
  WallTime wall() override { return runtime_.wall_now(); }
  void advance(Duration by) override { runtime_.sleep_for(by); }
  void nudge() override { advance(milliseconds(1)); }

 private:
  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
  std::array<std::unique_ptr<RedisProcess>, 2> nodes_;
  std::array<std::uint16_t, 2> bus_ports_{};
};

class ClusterConformance : public ::testing::TestWithParam<Case> {};

TEST_P(ClusterConformance, EmbeddedAnswersAsReal) {
  for (const int protocol : {2, 3}) {
    Transcript ours;
    const std::unique_ptr<World> world = make_embedded_world({.seed = 1});
    world->run([&] {
      Embedded target(*world);
      ours = play(GetParam().steps, target, protocol);
    });
    Real target(GetParam().pair);
    const Transcript theirs = play(GetParam().steps, target, protocol);
    EXPECT_EQ(differences(ours, theirs), "") << GetParam().name << ", RESP" << protocol;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ClusterConformance,
    ::testing::ValuesIn(load_cases(holdfast::testing::source_path("sim/redis/conformance/cluster"))),
    [](const ::testing::TestParamInfo<Case>& info) { return test_name(info.param.name); });

}  // namespace
}  // namespace holdfast::sim::oracle
