// What the harness itself learns from the Sentinels of a cluster, past the proxy: that they are ready, and
// whom they give another role.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "sim/cluster/cluster.h"
#include "sim/world/world.h"

namespace holdfast::sim {

// The reply to SENTINEL MASTER: this Sentinel knows so many replicas and other Sentinels, and they answer.
bool knows_them_all(const redis::Reply& primary, std::size_t replicas, std::size_t others);

// The same of a list of servers (SENTINEL REPLICAS): each has been asked what it is, and none is down.
bool all_are_well(const redis::Reply& replicas);

class SentinelWatch {
 public:
  // `primary`: which node is one now. Tells the cluster's on_role_changed, once for each change, whoever of
  // them says it first, and on_replica_turned.
  SentinelWatch(World& world, std::string primary, Cluster& cluster);
  // The name by which Sentinels know a node: its door.
  void node(const Endpoint& door, const std::string& name) { names_[door] = name; }
  // Listens to the Sentinel at `address` from now on, on a task of the harness, until the world ends.
  void listen(const Endpoint& address);

 private:
  void hear(const std::string& channel, const std::string& text);
  void tell(const std::string& node, bool primary) const;

  World& world_;
  std::map<Endpoint, std::string> names_;
  std::string primary_;
  std::map<std::string, bool> demoted_;
  Cluster& cluster_;
};

}  // namespace holdfast::sim
