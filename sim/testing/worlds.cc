// The places of a test (lib/testing/place.h) that need the harness: the event loop with real Redis servers,
// and the embedded world. Linking this file into a test program adds them.
#include "sim/world/world.h"

#include <list>

#include "lib/testing/place.h"
#include "lib/testing/servers.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"

namespace holdfast::testing {
namespace {

class WorldProcess final : public OtherProcess {
 public:
  explicit WorldProcess(sim::Process& process) : process_(process) {}
  Runtime& runtime() override { return process_.runtime(); }
  Network& network() override { return process_.network(); }
  void start(std::string_view role, std::function<void()> body) override {
    process_.start(role, std::move(body));
  }
  void pause() override { process_.pause(); }
  void resume() override { process_.resume(); }
  bool paused() const override { return process_.paused(); }
  void pause_role(std::string_view role) override { process_.pause_role(role); }
  void resume_role(std::string_view role) override { process_.resume_role(role); }
  void crash() override { process_.crash(); }

 private:
  sim::Process& process_;
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

// Of both worlds: the ports of its harness, and its processes.
class WorldPlace : public Place {
 public:
  explicit WorldPlace(Where where) : where_(where) {}
  void on_ports(const std::function<void(Runtime&, Network&)>& body) override {
    const auto world = make_world();
    world->run([&] { body(world->harness().runtime(), world->harness().network()); });
  }

 protected:
  std::unique_ptr<sim::World> make_world() const {
    return where_ == Where::embedded ? sim::make_embedded_world({}) : sim::make_real_world({});
  }
  void with_fixture(sim::World& world, Servers& servers, int attempt,
                    const std::function<void(Fixture&, Servers&)>& body) const {
    std::list<WorldProcess> processes;
    Fixture fixture{.where = where_,
                    .runtime = world.harness().runtime(),
                    .network = world.harness().network(),
                    .redis = servers.endpoint(0),
                    .attempt = attempt,
                    .add_process = [&](const std::string& name) -> OtherProcess& {
                      return processes.emplace_back(world.add_process(name));
                    },
                    .step_wall = [&](Duration by) { world.harness().step_wall(by); }};
    body(fixture, servers);
  }

 private:
  const Where where_;
};

class EventLoop final : public WorldPlace {
 public:
  EventLoop() : WorldPlace(Where::event_loop) {}
  void on_servers(int count, int attempt, const std::function<void(Fixture&, Servers&)>& body) override {
    const auto world = make_world();
    world->run([&] {
      RealServers servers(world->harness().runtime(), world->harness().network(), count);
      with_fixture(*world, servers, attempt, body);
    });
  }
};

class Embedded final : public WorldPlace {
 public:
  Embedded() : WorldPlace(Where::embedded) {}
  void on_servers(int count, int attempt, const std::function<void(Fixture&, Servers&)>& body) override {
    const auto world = make_world();
    std::unique_ptr<sim::Proxy> proxy;  // both outlive the world's tasks
    std::unique_ptr<sim::Cluster> cluster;
    world->run([&] {
      proxy = std::make_unique<sim::Proxy>(*world);
      sim::ClusterOptions options{.topology = sim::Topology::independent, .nodes = {}};
      for (int i = 0; i < count; ++i) options.nodes.push_back("r" + std::to_string(i + 1));
      cluster = sim::make_embedded_cluster(*world, *proxy, options);
      cluster->start();
      EmbeddedServers servers(*cluster);
      with_fixture(*world, servers, attempt, body);
    });
  }
};

[[maybe_unused]] const bool added = add_place(Where::event_loop, std::make_unique<EventLoop>()) &&
                                    add_place(Where::embedded, std::make_unique<Embedded>());

}  // namespace
}  // namespace holdfast::testing
