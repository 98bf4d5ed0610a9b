// Fault: one thing that goes wrong and how it heals. One fault, one file; when it acts and when it heals is
// the business of the scenario's director. A fault tells itself what it did to whom (FaultTargets::tell):
// nobody concludes anything from the name of its kind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checker/history/effects.h"
#include "sim/settings/setting.h"
#include "sim/world/duration_range.h"
#include "sim/world/rng.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Cluster;
class Proxy;

using FaultKey = Setting;
using FaultValue = SettingValue;

struct FaultConfig {
  std::string id;
  SettingValues values;  // by key; checked against FaultKind::keys

  template <class T>
  const T* get(std::string_view key) const {
    return sim::get<T>(values, key);
  }
};

// What an act of a fault, or its healing, did to one party.
struct FaultEffect {
  checker::Effect what;
  std::string party;     // a node, a client, or a role of a client: "c1/watchdog"
  Duration by{};         // clock_stepped
  std::int64_t ppm = 0;  // clock_drifts
};

// What a fault may lay hands on.
struct FaultTargets {
  World& world;
  Cluster& cluster;
  Proxy& proxy;
  // Its present incarnation; nullptr: no such client.
  std::function<Process*(std::string_view client)> client;
  Rng& rng;  // the act's own stream; each thing that is drawn from a child() of its own
  // A client dies / comes back as a new incarnation. Use these, not Process::crash(): they are recorded
  // (Workload::crash, Workload::restart).
  std::function<void(std::string_view client)> crash_client = {};
  std::function<void(std::string_view client)> restart_client = {};
  // A client becomes two (Workload::fork).
  std::function<void(std::string_view client, std::function<void()> refused)> fork_client = {};
  // For kinds that tell (FaultKind::tells_hits): it met what it was made for.
  std::function<void()> hit = [] {};
  // How long this act will last; only for kinds that say knows_length, and zero without `for`.
  Duration lasts{};
  // To be called at the moment of each effect, and only for what did happen: no `crashed` of a node that was
  // dead.
  std::function<void(const FaultEffect& effect)> tell = [](const FaultEffect&) {};
};

// Undoes one act, and nothing that another act did. May park. Empty: there is nothing to heal.
using Healing = std::function<void(FaultTargets& targets)>;

class Fault {
 public:
  virtual ~Fault() = default;
  // Acts, and returns how this very act is healed; that is called once at most, only when the file says
  // `for`, and maybe after other acts of the same fault, or after the fault object is gone: what it needs, it
  // captures by value. May park (a server starts, a replica is promoted).
  virtual Healing act(FaultTargets& targets) = 0;
};

struct FaultKind {
  std::string_view name;   // "replication-lag"
  std::string_view about;  // one line
  std::vector<FaultKey> keys = {};
  bool must_end = false;  // needs `for`
  // An act is over as soon as it happened, and leaves nothing to heal (a promotion, a cut).
  bool at_once = false;
  // It acts only when something comes by (a message, a connection), and calls FaultTargets::hit then, as
  // often as it likes, also after act(). The mark fault.ID means a hit.
  bool tells_hits = false;
  // It acts on links, whoever uses them: it has hit when it acted. Kinds with neither have hit with the first
  // effect that they tell: who is dead or has not started was not met.
  bool on_links = false;
  // With the key `client`, it acts within a client of ours (its clocks, its tasks): not on a foreign program,
  // but for its wall clock.
  bool inside_client = false, inside_programs = false;
  bool knows_length = false;          // FaultTargets::lasts
  bool needs_replicas = false;        // some nodes follow others
  bool needs_append_only = false;     // persistence = "aof-..."
  bool needs_sentinels = false;       // topology = "sentinel"
  bool needs_cluster = false;         // topology = "cluster"
  bool changes_role = false;          // by REPLICAOF, which a node of a Redis Cluster refuses
  bool embedded = true, real = true;  // worlds that can do it
  bool by_hand = false;               // no lock promises to bear it: no hunt draws it
  bool any_engine = false;            // it asks nothing of Redis: servers of other engines have it, too
  std::unique_ptr<Fault> (*make)(const FaultConfig& config) = nullptr;
  // What a file's keys, each right by itself, must be together ("exactly one of `node` and `client`"), if
  // they are not; "" if they are. nullptr: nothing to check.
  std::string (*problem)(const FaultConfig& config) = nullptr;
};

const std::vector<FaultKind>& all_fault_kinds();          // in the order of `holdfast list faults`
const FaultKind* find_fault_kind(std::string_view name);  // nullptr: none

}  // namespace holdfast::sim
