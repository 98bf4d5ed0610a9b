// What of ZooKeeper needs its client library: its servers and its lock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/cluster/cluster.h"

namespace holdfast::sim::zookeeper {

// "Java", "ZooKeeper"; "": all is there.
std::string missing_of_server();
std::vector<std::string> version_command();  // Engine::version_command

std::unique_ptr<Cluster> make_cluster(World& world, Proxy& proxy, const ClusterOptions& options);

// Of one client process.
std::unique_ptr<LockSpace> recipe_locks(const LockSpaceOptions& options);

}  // namespace holdfast::sim::zookeeper
