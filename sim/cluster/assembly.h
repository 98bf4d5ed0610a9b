// Making one Redis Cluster of servers that run: hash slots, acquaintance, replicas; as `redis-cli --cluster
// create` does it (https://redis.io/docs/latest/operate/oss_and_stack/management/scaling/).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "lib/runtime/runtime.h"
#include "sim/cluster/cluster.h"

namespace holdfast::sim {

// A server that is to become a node, in the order of ClusterOptions::nodes.
struct ClusterMember {
  std::string name;
  Endpoint door;           // as it announces itself
  std::uint16_t bus_port;  // likewise
  // [parks] One command, past the proxy. Throws std::runtime_error.
  std::function<redis::Reply(const std::vector<std::string>& command)> call;
};

// [parks] Returns when every node says that the cluster is well and knows all others by their roles; replicas
// may be behind yet. Throws std::runtime_error that names the node.
void assemble_cluster(Runtime& runtime, const ClusterOptions& options,
                      const std::vector<ClusterMember>& members);

}  // namespace holdfast::sim
