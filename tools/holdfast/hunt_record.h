// HuntRecord: a hunt as a document: what it was asked, what it knows, what it found. `hunt --json` and
// `--out` write it; `hunt --resume` goes on from it, `merge` joins several.
//
// One JSON document, `"kind": "hunt"`, `"schema": 1`. Words of 64 bits are 16 hex digits; cases are scenario
// files with their decisions beside them, so that a reader needs no more than a scenario's reader does. Only
// `seconds` differs between two hunts that were asked the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/hunt/case_file.h"
#include "sim/hunt/hunt.h"
#include "sim/hunt/shrink.h"
#include "tools/holdfast/json_file.h"
#include "tools/holdfast/real_check.h"
#include "tools/holdfast/shard.h"

namespace holdfast::tools {

// A violation, made small; it may have another name then.
struct SmallFind {
  sim::Failure failure;
  sim::Shrunk shrunk;
};

// What is told of a find in the end.
struct ToldFind {
  sim::Failure failure;     // of the small case
  const sim::Find* first;   // of those that it stands for; outlives it
  std::uint64_t count = 0;  // of their runs
  sim::Shrunk shrunk;
  sim::CaseFile file;
  std::optional<RealCheck> real = std::nullopt;  // nullopt: not asked for
};

struct HuntRecord {
  std::string version;
  std::uint64_t probe = 0;  // sim::probe_of()
  sim::Ground ground;
  std::uint64_t seed = 1;
  bool feedback = true, shrink = true;
  Shard shard;
  std::optional<std::uint64_t> asked;  // --runs, of all shards; nullopt: it was hunted for some time
  // Of a union of hunts: the seed and the runs of each, by seed. Its own seed is the first.
  struct Part {
    std::uint64_t seed = 0, runs = 0;
  };
  std::vector<Part> joined;
  sim::HuntState state;
  std::map<std::string, SmallFind> small;  // by the name of the violation; those that are made small
  double seconds = 0;                      // of a merge: the longest of them

  std::string what() const { return ground.file.empty() ? std::string(ground.lock->name) : ground.file; }
  // Everything that was asked for is run. REQUIRES: asked
  bool whole() const { return state.runs == shard.part_of(*asked); }
};

Json to_json(const HuntRecord& record, const std::vector<ToldFind>& told);
bool is_hunt(const Json& document);
// Throws BadUsage, of `path`.
HuntRecord hunt_record(const Json& document, const std::string& path);

// Marks that hunts of this lock have to reach, and this one did not.
std::vector<std::string> missed_marks(const HuntRecord& record);

}  // namespace holdfast::tools
