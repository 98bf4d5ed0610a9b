// A cluster in a world of its own, embedded or real, and what tests ask of it: the same story in both worlds.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/testing/server/server_connection.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/cluster.h"
#include "sim/proxy/proxy.h"
#include "sim/proxy/rules.h"
#include "sim/world/world.h"

namespace holdfast::sim {

struct Scene {
  World& world;
  Proxy& proxy;
  Cluster& cluster;
  std::vector<std::string> told = {};    // "r4 primary", "r1 replica"
  std::vector<std::string> turned = {};  // replicas that a Sentinel told to follow another primary

  // Past the proxy.
  redis::Reply ask(const std::string& node, std::initializer_list<std::string> command) {
    Process& harness = world.harness();
    const MonotonicTime deadline = deadline_after(harness.runtime().now(), std::chrono::seconds(10));
    ServerConnection connection(harness.network(), cluster.find(node)->endpoint(), deadline);
    return connection.call(command, deadline);
  }
  // Whether it does, within 30 s.
  bool comes_to(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      world.harness().runtime().sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // "?": who turns a server throws its clients out, this one, too.
  std::string role_of(const std::string& node) {
    try {
      return ask(node, {"ROLE"}).items.at(0).text;
    } catch (const std::runtime_error&) {
      return "?";
    }
  }
  // Nothing passes between these and those, either way.
  RuleId cut(const std::vector<std::string>& here, const std::vector<std::string>& there) {
    const auto in = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    return proxy.add_rule(make_partition_rule([=](const Link& link) {
      const bool hit =
          (in(here, link.from) && in(there, link.to)) || (in(there, link.from) && in(here, link.to));
      return Lanes{.request = hit, .reply = hit};
    }));
  }
};

// Runs `body` in a world with a cluster that has been started; its folder is a temporary one.
inline void in_scene(bool embedded, ClusterOptions options, const std::function<void(Scene&)>& body) {
  const TemporaryFolder folder;
  options.folder = folder.path();
  const std::unique_ptr<World> world =
      embedded ? make_embedded_world({.seed = 7}) : make_real_world({.seed = 7});
  std::unique_ptr<Proxy> proxy;
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Scene> scene;
  world->run([&] {
    proxy = std::make_unique<Proxy>(*world);
    cluster = embedded ? make_embedded_cluster(*world, *proxy, options)
                       : make_real_cluster(*world, *proxy, options);
    cluster->start();
    scene = std::make_unique<Scene>(Scene{*world, *proxy, *cluster});
    cluster->on_role_changed = [&](const std::string& node, bool primary) {
      scene->told.push_back(node + (primary ? " primary" : " replica"));
    };
    cluster->on_replica_turned = [&](const std::string& node) { scene->turned.push_back(node); };
    body(*scene);
  });
}

}  // namespace holdfast::sim
