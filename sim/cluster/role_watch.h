// What the harness itself learns from the nodes of a real Redis Cluster, past the proxy: who became a
// primary, and who a replica. They send no messages about it, so they are asked.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "lib/net/network.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class RoleWatch {
 public:
  using OnRole = std::function<void(const std::string& node, bool primary)>;

  RoleWatch(World& world, OnRole told) : world_(world), told_(std::move(told)) {}
  // Asks the server at `address` for its ROLE every few milliseconds from now on, on a task of the harness,
  // until the world ends. `primary`: what it is now.
  void look_at(const std::string& node, const Endpoint& address, bool primary);

 private:
  World& world_;
  std::map<std::string, bool> primary_;
  const OnRole told_;
};

}  // namespace holdfast::sim
