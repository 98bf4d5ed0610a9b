// Servers, and a test that plays faults on them in either world.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/cluster.h"
#include "sim/fault/fault.h"
#include "sim/fault/testing/acting.h"
#include "sim/proxy/testing/rig.h"

namespace holdfast::sim::testing {

struct Servers {
  World& world;
  Proxy& proxy;
  Cluster& cluster;
  Process& client;
  FaultTargets targets;

  std::unique_ptr<Acting> make(std::string_view kind, SettingValues values) {
    return std::make_unique<Acting>(kind, std::move(values));
  }
  Wire wire(std::string_view node, Duration patience = std::chrono::seconds(2)) {
    Wire wire(client, cluster.find(node)->endpoint());
    wire.patience = patience;
    return wire;
  }
  // As a client, on a connection of its own.
  std::string ask(std::string_view node, std::string_view line, Duration patience = std::chrono::seconds(2)) {
    std::string reply;
    on(world, client, [&] { reply = wire(node, patience).ask(line); });
    return reply;
  }
  // Until the reply is `wanted`.
  bool comes_to(std::string_view node, std::string_view line, std::string_view wanted) {
    for (int i = 0; i < 1000; ++i) {
      if (ask(node, line) == wanted) return true;
      world.harness().runtime().sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

class ServersTest : public ::testing::TestWithParam<Kind> {
 protected:
  void play(Persistence persistence, const std::function<void(Servers&)>& body) {
    play(
        ClusterOptions{
            .topology = Topology::primary_replica, .nodes = {"r1", "r2"}, .persistence = persistence},
        body);
  }
  void play(ClusterOptions options, const std::function<void(Servers&)>& body) {
    const TemporaryFolder folder;
    options.folder = folder.path();
    const auto world = make_world(GetParam());
    world->run([&] {
      Proxy proxy(*world);
      const auto cluster = GetParam() == Kind::real ? make_real_cluster(*world, proxy, options)
                                                    : make_embedded_cluster(*world, proxy, options);
      cluster->start();
      Process& client = world->add_process("c1");
      Rng rng(1);
      FaultTargets targets{.world = *world, .cluster = *cluster, .proxy = proxy, .client = {}, .rng = rng};
      Servers servers{*world, proxy, *cluster, client, targets};
      body(servers);
    });
  }
};

inline std::string world_name(const ::testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::embedded ? "embedded" : "real";
}

}  // namespace holdfast::sim::testing
