// What the harness itself learns from the Sentinels of a cluster, past the proxy: that they are ready, and
// whom they give another role.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "sim/world/world.h"

namespace holdfast::sim {

// The reply to SENTINEL MASTER: this Sentinel knows so many replicas and other Sentinels, and they answer.
bool knows_them_all(const redis::Reply& primary, std::size_t replicas, std::size_t others);

// The same of a list of servers (SENTINEL REPLICAS): each has been asked what it is, and none is down.
bool all_are_well(const redis::Reply& replicas);

class SentinelWatch {
 public:
  using OnRole = std::function<void(const std::string& node, bool primary)>;
  using OnTurned = std::function<void(const std::string& replica)>;

  // `primary`: which node is one now. `told` is called once for each change, whoever of them tells it first.
  // `turned`: a replica was told to follow the new primary.
  SentinelWatch(World& world, std::string primary, OnRole told, OnTurned turned);
  // The name by which Sentinels know a node: its door.
  void node(const Endpoint& door, const std::string& name) { names_[door] = name; }
  // Listens to the Sentinel at `address` from now on, on a task of the harness, until the world ends.
  void listen(const Endpoint& address);

 private:
  void hear(const std::string& channel, const std::string& text);

  World& world_;
  std::map<Endpoint, std::string> names_;
  std::string primary_;
  std::map<std::string, bool> demoted_;
  const OnRole told_;
  const OnTurned turned_;
};

}  // namespace holdfast::sim
