// etcd as an engine: what a scenario may say of it, and its lock. It needs no client library: what is in
// etcd/ speaks to the HTTP gateway that is part of the server.
#include <chrono>

#include "sim/comparators/engine.h"
#include "sim/comparators/etcd/etcd.h"

namespace holdfast::sim {
namespace {

std::string missing() {
  if (!etcd::find_etcd().empty()) return "";
  return "etcd is not installed on this machine; install it with: " + std::string(kInstallComparators);
}

std::vector<std::string> version_command() { return {etcd::find_etcd(), "--version"}; }

}  // namespace

Engine etcd_engine() {
  LockKind lock{.name = "etcd-lock",
                .about =
                    "etcd: a key with a lease, held by the lowest create revision; waiters watch the key "
                    "before theirs"};
  lock.engine = "etcd";
  lock.promises_validity = true;
  lock.tokens = true;
  lock.lease_unit = std::chrono::seconds(1);
  lock.make = etcd::lease_locks;
  return {
      .name = "etcd",
      .about = "etcd; an ensemble agrees by raft",
      .topologies = {Topology::single, Topology::ensemble},
      .settings = {{"heartbeat-interval", "milliseconds between two heartbeats of the leader (100)"},
                   {"election-timeout",
                    "milliseconds without one after which a member wants another leader (1000)"}},
      .locks = {lock},
      .missing = missing,
      .version_command = version_command,
      .make = etcd::make_cluster,
  };
}

}  // namespace holdfast::sim
