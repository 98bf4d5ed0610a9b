// Planted: small wrong versions of the locks of lib/lock, each wrong in one place, so that it can be measured
// what finds them. They are for tests and measurements alone: no list of locks shows them, and nothing of
// them is in lib.
//
// Two ways to be wrong:
// - an edit of a Lua script: a text that stands in it exactly once becomes another one. Its clients run the
//   edited script: their network (edited_network.h) changes it on its way out. So every kind can be edited,
//   and all else of it is the code that ships.
// - a space of its own: the lock of lib/lock on another Store, or beside another Wire (planted_store.h), or
//   with something before it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/script.h"
#include "sim/client/lock_kind.h"

namespace holdfast::sim {

struct ScriptEdit {
  const redis::Script* script = nullptr;
  std::string_view from, to;
};

struct PlantedVersion {
  std::string_view name;    // "reentrant-release-of-any-owner"
  std::string_view base;    // the row of `holdfast list locks` of which it is a wrong version
  std::string_view broken;  // what is wrong, in one line
  // The hunt of the tests finds it within so many runs; and why none does, where that is so.
  std::uint64_t within = 2'048;
  std::string_view escapes = {};
  std::vector<ScriptEdit> edits = {};
  // In the place of the base's; empty: as the base.
  decltype(LockKind::make) make = {};
  bool registry = false;        // `make`, too, makes locks that a registry keeps
  bool asks_strangers = false;  // LockKind::asks_strangers
  decltype(LockKind::make_latches) make_latches = {};
  // What commands of its own do to a record, beside those of the base.
  decltype(LockKind::read_effects) more_effects = {};
};

// All of them. REQUIRES: nothing else runs at the first call.
const std::vector<PlantedVersion>& planted_versions();

// What is planted with, and nothing planted: edits that change no meaning, stores and spaces that do as those
// of the base. What a hunt finds in one of these is a defect of the planting.
const std::vector<PlantedVersion>& planted_controls();

// The text of the edited script. Throws std::logic_error: `from` does not stand in it exactly once, so the
// table no longer fits the sources.
std::string edited(const redis::Script& script, std::string_view from, std::string_view to);

// The row that a scenario names "planted-NAME". Throws as edited() does.
LockKind planted_kind(const PlantedVersion& version);

// Why some escape.
inline constexpr std::string_view kLostPermits =
    "a permit that is lost while others are held comes back when nobody holds any, and who asks at rest is "
    "late";
inline constexpr std::string_view kNoDrift =
    "clocks that run at other rates are beyond what the lock says that it bears";

// Makes all of them known to find_lock_kind(), once.
void add_planted_kinds();

// The rows of each file.
std::vector<PlantedVersion> planted_reentrant();
std::vector<PlantedVersion> planted_read_write();
std::vector<PlantedVersion> planted_semaphore();
std::vector<PlantedVersion> planted_redisson();
std::vector<PlantedVersion> planted_clients();
std::vector<PlantedVersion> planted_spaces();
std::vector<PlantedVersion> planted_composite();
std::vector<PlantedVersion> planted_survivor();
std::vector<PlantedVersion> client_controls();
std::vector<PlantedVersion> space_controls();
std::vector<PlantedVersion> composite_controls();
std::vector<PlantedVersion> survivor_controls();

}  // namespace holdfast::sim
