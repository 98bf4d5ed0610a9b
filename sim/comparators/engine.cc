// All engines. A new one: its file, a declaration and a line here.
#include "sim/comparators/engine.h"

#include "sim/proxy/proxy.h"

namespace holdfast::sim {

Engine postgresql_engine();
Engine etcd_engine();
Engine zookeeper_engine();

const std::vector<Engine>& all_engines() {
  static const std::vector<Engine> kEngines = {
      postgresql_engine(),
      etcd_engine(),
      zookeeper_engine(),
  };
  return kEngines;
}

const Engine* find_engine(std::string_view name) {
  for (const Engine& engine : all_engines()) {
    if (engine.name == name) return &engine;
  }
  return nullptr;
}

const std::vector<const LockKind*>& comparator_locks() {
  static const std::vector<const LockKind*> kLocks = [] {
    std::vector<const LockKind*> locks;
    for (const Engine& engine : all_engines()) {
      for (const LockKind& lock : engine.locks) locks.push_back(&lock);
    }
    return locks;
  }();
  return kLocks;
}

const LockKind* find_comparator(std::string_view name) {
  for (const LockKind* const lock : comparator_locks()) {
    if (lock->name == name) return lock;
  }
  return nullptr;
}

DoorsOfClients open_doors(Proxy& proxy, const Cluster& cluster, const std::vector<std::string>& clients) {
  DoorsOfClients doors;
  for (const std::string& client : clients) {
    for (const auto& node : cluster.nodes())
      doors[client].push_back({node->name(), proxy.expose_to(client, node->name())});
  }
  return doors;
}

}  // namespace holdfast::sim
