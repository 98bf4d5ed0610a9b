#include "lib/testing/servers.h"

#include <memory>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "sim/cluster/cluster.h"
#include "sim/cluster/redis_process.h"
#include "sim/cluster/temporary_folder.h"
#include "sim/proxy/proxy.h"
#include "sim/world/world.h"

namespace holdfast::testing {
namespace {

class RealServers final : public Servers {
 public:
  RealServers(Runtime& runtime, Network& network, int count) {
    for (int i = 0; i < count; ++i) {
      servers_.emplace_back(
          runtime, network,
          sim::RedisProcessOptions{.folder = folder_.path() + "/r" + std::to_string(i + 1)});
      servers_.back().start();
    }
  }
  std::size_t size() const override { return servers_.size(); }
  Endpoint endpoint(std::size_t server) const override { return at(server).endpoint(); }
  void crash(std::size_t server) override { at(server).kill(); }
  void restart(std::size_t server) override { at(server).start(); }
  void pause(std::size_t server) override { at(server).pause(); }
  void resume(std::size_t server) override { at(server).resume(); }

 private:
  sim::RedisProcess& at(std::size_t server) const {
    return *std::next(servers_.begin(), static_cast<std::ptrdiff_t>(server));
  }
  const sim::TemporaryFolder folder_;
  mutable std::list<sim::RedisProcess> servers_;
};

class EmbeddedServers final : public Servers {
 public:
  explicit EmbeddedServers(sim::Cluster& cluster) : cluster_(cluster) {}
  std::size_t size() const override { return cluster_.nodes().size(); }
  Endpoint endpoint(std::size_t server) const override { return at(server).endpoint(); }
  void crash(std::size_t server) override { at(server).crash(); }
  void restart(std::size_t server) override { at(server).restart(false); }
  void pause(std::size_t server) override { at(server).pause(); }
  void resume(std::size_t server) override { at(server).resume(); }

 private:
  sim::ClusterNode& at(std::size_t server) const { return *cluster_.nodes().at(server); }
  sim::Cluster& cluster_;
};

}  // namespace

void on_servers(Where where, int count, const std::function<void(Stand&, Servers&)>& body) {
  if (where != Where::embedded) {
    with_attempts(where, [&](int attempt) {
      const auto attempted = [&](Runtime& runtime, Network& network, sim::World* world) {
        RealServers servers(runtime, network, count);
        Stand stand{where, runtime, network, servers.endpoint(0), world, attempt};
        body(stand, servers);
      };
      if (where == Where::threads) {
        ThreadRuntime runtime;
        SocketNetwork network(runtime);
        attempted(runtime, network, nullptr);
        return;
      }
      const auto world = sim::make_real_world({});
      world->run([&] { attempted(world->harness().runtime(), world->harness().network(), world.get()); });
    });
    return;
  }
  const auto world = sim::make_embedded_world({});
  std::unique_ptr<sim::Proxy> proxy;  // both outlive the world's tasks
  std::unique_ptr<sim::Cluster> cluster;
  world->run([&] {
    proxy = std::make_unique<sim::Proxy>(*world);
    sim::ClusterOptions options{.topology = sim::Topology::independent, .nodes = {}};
    for (int i = 0; i < count; ++i) options.nodes.push_back("r" + std::to_string(i + 1));
    cluster = sim::make_embedded_cluster(*world, *proxy, options);
    cluster->start();
    EmbeddedServers servers(*cluster);
    Stand stand{where, world->harness().runtime(), world->harness().network(), servers.endpoint(0),
                world.get()};
    body(stand, servers);
  });
}

}  // namespace holdfast::testing
