// Fault: something that goes wrong, and its healing step. One fault = one file, listed in fault_registry.h.
//
// When a fault acts is no business of its own: the scenario's director fires it at a time, after an event, or
// on a message (then act() runs on the proxy's task, before that message is passed on).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/runtime/time.h"
#include "sim/world/duration_range.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class Cluster;
class Proxy;

// One key of a [[fault]] table beyond id, kind, enabled, at, every, after, for, during.
struct FaultKey {
  enum class Type { node, client, parties, duration, range, percent, count, text, flag };
  // node, client: the name of one (checked against the scenario; client "c1" of `clients = 3` is c1..c3).
  // parties: a name or a list of names of clients and nodes ("*": all). range: "1ms..5ms" or one duration.
  std::string_view name;
  Type type;
  bool required = false;
  std::string_view about;                      // one line for `holdfast list faults`
  std::vector<std::string_view> choices = {};  // text: what is allowed; empty: anything
};

using FaultValue =
    std::variant<std::string, std::vector<std::string>, Duration, DurationRange, std::int64_t, bool>;

struct FaultConfig {
  std::string id;
  std::map<std::string, FaultValue, std::less<>> values;  // by key; checked against FaultKind::keys

  template <class T>
  const T* get(std::string_view key) const {
    const auto it = values.find(key);
    return it == values.end() ? nullptr : std::get_if<T>(&it->second);
  }
};

// What a fault may lay hands on.
struct FaultTargets {
  World& world;
  Cluster& cluster;
  Proxy& proxy;
  // Its present incarnation; nullptr: no such client.
  std::function<Process*(std::string_view client)> client;
  Rng& rng;  // the fault's own stream
  // A client dies / comes back as a new incarnation. Use these, not Process::crash(): they are recorded
  // (Workload::crash, Workload::restart).
  std::function<void(std::string_view client)> crash_client = {};
  std::function<void(std::string_view client)> restart_client = {};
  // For kinds that tell (FaultKind::tells_hits): it met what it was made for.
  std::function<void()> hit = [] {};
};

class Fault {
 public:
  virtual ~Fault() = default;
  // With `every` it acts again and again; each act() is healed by one heal(), in the order of the acts, and
  // only when the file says `for`. Both may park (a server starts, a replica is promoted).
  virtual void act(FaultTargets& targets) = 0;
  virtual void heal(FaultTargets& targets) { static_cast<void>(targets); }
};

struct FaultKind {
  std::string_view name;   // "replication-lag"
  std::string_view about;  // one line
  std::vector<FaultKey> keys = {};
  bool must_end = false;  // needs `for`
  // It acts only when something comes by (a message, a connection), and calls FaultTargets::hit then, as
  // often as it likes, also after act(). Other kinds have hit when they acted. The mark fault.ID means a hit.
  bool tells_hits = false;
  bool embedded = true, real = true;  // worlds that can do it
  std::unique_ptr<Fault> (*make)(const FaultConfig& config) = nullptr;
  // What a file's keys, each right by itself, must be together ("exactly one of `node` and `client`"), if
  // they are not; "" if they are. nullptr: nothing to check.
  std::string (*problem)(const FaultConfig& config) = nullptr;
};

const std::vector<FaultKind>& all_fault_kinds();          // in the order of `holdfast list faults`
const FaultKind* find_fault_kind(std::string_view name);  // nullptr: none

}  // namespace holdfast::sim
