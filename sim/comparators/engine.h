// Engine: a kind of server other than Redis, whose locks the harness compares with ours: its servers as child
// processes, and its kinds of locks. In the real world only. Adding one: README.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/cluster/cluster.h"

namespace holdfast::sim {

// A key of [cluster.settings] that this engine takes, in its own words.
struct EngineSetting {
  std::string_view name, about;
};

struct Engine {
  std::string_view name;   // [cluster] engine
  std::string_view about;  // one line
  std::vector<Topology> topologies = {Topology::single};
  std::vector<std::string> nodes = {"r1"};  // of the topology `single`, if the scenario names none
  std::vector<EngineSetting> settings = {};
  std::vector<LockKind> locks = {};  // LockKind::engine is `name`
  // What of it is not in this build or on this machine, with the command that installs it; "": nothing.
  std::string (*missing)() = nullptr;
  // A program with its arguments that prints the version of the server. REQUIRES: nothing is missing.
  std::vector<std::string> (*version_command)() = nullptr;
  // REQUIRES: nothing is missing.
  std::unique_ptr<Cluster> (*make)(World& world, Proxy& proxy, const ClusterOptions& options) = nullptr;
};

const std::vector<Engine>& all_engines();
const Engine* find_engine(std::string_view name);  // nullptr: none, or Redis
// Of all engines. `holdfast list locks` has them after those of Redis.
const std::vector<const LockKind*>& comparator_locks();
const LockKind* find_comparator(std::string_view name);

// The command that installs what comparators need.
inline constexpr std::string_view kInstallComparators = "tools/setup/setup --comparisons";

// Each client has doors of its own to the nodes: a client library of others connects from where the kernel
// has it connect from, so that only the door says whose connection it is. On a task of the harness.
using DoorsOfClients = std::map<std::string, std::vector<redis::Node>>;
DoorsOfClients open_doors(Proxy& proxy, const Cluster& cluster, const std::vector<std::string>& clients);

}  // namespace holdfast::sim
