// etcd: its servers and its lock, by its HTTP gateway.
#pragma once

#include <memory>
#include <string>

#include "sim/client/lock_kind.h"
#include "sim/cluster/cluster.h"

namespace holdfast::sim::etcd {

// The server: what HOLDFAST_ETCD names, else in PATH. "": nowhere.
std::string find_etcd();

std::unique_ptr<Cluster> make_cluster(World& world, Proxy& proxy, const ClusterOptions& options);

// Of one client process.
std::unique_ptr<LockSpace> lease_locks(const LockSpaceOptions& options);

}  // namespace holdfast::sim::etcd
