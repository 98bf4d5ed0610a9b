// What of PostgreSQL needs libpq: its servers and its locks.
#pragma once

#include <memory>
#include <string>

#include "sim/client/lock_kind.h"
#include "sim/client/workload.h"
#include "sim/cluster/cluster.h"

namespace holdfast::sim::postgresql {

// A program of PostgreSQL's server: in the folder that HOLDFAST_POSTGRESQL names, else the newest where
// Debian keeps them, else in PATH. "": nowhere.
std::string find_postgres(const std::string& program);

std::unique_ptr<Cluster> make_cluster(World& world, Proxy& proxy, const ClusterOptions& options);

// Its workload "postgresql-stock".
std::unique_ptr<Workload> stock(World& world, Recorder& recorder, const WorkloadOptions& options);

// Of one client process each.
std::unique_ptr<LockSpace> advisory_locks(const LockSpaceOptions& options);
std::unique_ptr<LockSpace> advisory_xact_locks(const LockSpaceOptions& options);
std::unique_ptr<LockSpace> row_locks(const LockSpaceOptions& options);
std::unique_ptr<LockSpace> table_locks(const LockSpaceOptions& options);

}  // namespace holdfast::sim::postgresql
