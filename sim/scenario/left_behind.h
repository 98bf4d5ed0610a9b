// What stands on the servers when a run is over and no expiry removes, and a script that goes on and on. All
// keys of a run are its locks': stocks, accounts and jobs are kept elsewhere.
#pragma once

#include <string>
#include <vector>

#include "sim/cluster/cluster.h"

namespace holdfast::sim {

struct LeftBehind {
  std::string node, key;
  std::string type;  // "hash", "list", ...; checker::kScript: a script, without a key
};

// [parks] On every primary that runs: all keys without an expiry; of a server that is busy with a script, a
// primary or not, only that. By node in the order of the cluster, by key. Throws what
// ClusterNode::administer() throws.
std::vector<LeftBehind> left_behind(const Cluster& cluster);

}  // namespace holdfast::sim
