// Which node of a Redis Cluster has which slot, and asking the nodes for it (CLUSTER INFO, CLUSTER SLOTS).
//
// Any node knows. One that was cut off from the others may know of an old primary only, and after
// cluster-node-timeout it says so (`cluster_state:fail`). So the nodes are asked one after the other until
// one says that all is well and is not behind what this client knows (`cluster_current_epoch`); where none
// does, the newest of their answers has to do. A node that does not have a slot any more says MOVED itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/client.h"
#include "lib/redis/error.h"
#include "lib/redis/servers.h"
#include "lib/runtime/runtime.h"

namespace holdfast::redis {

struct ClusterMap {
  static constexpr std::uint16_t kNobody = 0xffff;

  std::vector<std::uint16_t> nodes = {};  // by slot: number in Servers, or kNobody; empty: nothing is known
  std::vector<std::uint16_t> named = {};  // whom it names, replicas too
  std::int64_t epoch = -1;                // cluster_current_epoch of who told it

  std::optional<std::size_t> at(std::uint16_t slot) const {
    if (nodes.empty() || nodes[slot] == kNobody) return std::nullopt;
    return nodes[slot];
  }
};

struct ClusterAnswer {
  std::optional<ClusterMap> map = std::nullopt;
  std::string why_not = {};  // one reason for each node that had no answer
  // As Found::hopeless, when no node has an answer: unauthorized, protocol or unsupported when one says so;
  // unreachable when nobody listens at any address.
  std::optional<Error::Kind> hopeless = std::nullopt;
  std::string code = {}, hopeless_node = {};
};

// [parks] Asks each known node once at most, each within options.connect_timeout: first those that `known`
// names, then those of the options, then `last`, then those that were named earlier; none any more once
// servers.ended(). What the answers name is known to `servers` from then on.
ClusterAnswer ask_cluster(Runtime& runtime, Network& network, const ClientOptions& options, Servers& servers,
                          std::optional<std::size_t> last, const ClusterMap& known);

}  // namespace holdfast::redis
