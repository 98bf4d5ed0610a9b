// TrackRecord: what hunts found of what is known to be wrong, as a file to which one call after another adds.
//
// One JSON document, `"kind": "track-record"`, `"schema": 1`; a line for each subject, for each of
// its strategies, and for its failure that was made small. tools/planted/track_record.py makes a page of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/hunt/shrink.h"
#include "sim/planted/measure.h"
#include "tools/holdfast/json_file.h"

namespace holdfast::tools {

// What is hunted, in words.
struct Described {
  std::string lock;     // of which it is a wrong version; "": a published design
  std::string about;    // what is wrong with it
  std::string escapes;  // why no hunt finds it; "": one should
};

// A hunt with one seed.
struct OneHunt {
  std::uint64_t tried = 0;                     // runs
  std::map<std::string, std::uint64_t> found;  // by promise: runs until it was broken
};

// How often a promise held and was violated; unknown: it could not be judged.
struct Tally {
  std::uint64_t holds = 0, violated = 0, unknown = 0;
  std::uint64_t runs() const { return holds + violated + unknown; }
};

// What was made of the failure that the first hunt found.
struct SmallFailure {
  std::string promise, about;
  sim::Size before, after;
  std::uint64_t runs = 0;       // that it took
  std::uint64_t seeds = 0;      // of 20 that show it
  std::uint64_t decisions = 0;  // that it needs besides
  bool controlled = false;      // there is a variant in which it holds
  std::string ours;             // the lock of ours under the same; "": there is none
  Tally of_ours;
  std::optional<Tally> real;  // on real servers; none: not run
  std::string why_not_real;   // they cannot do it; "": they can, or nobody asked
  std::string scenario;       // as a file
};

class TrackRecord {
 public:
  // A file that is not there yet is an empty record. Throws BadUsage.
  static TrackRecord read(const std::string& path);
  std::string text() const;

  // The hunt is there: it found all of `wanted` (none named: anything), or tried so many runs.
  bool has(const std::string& subject, sim::Strategy strategy, std::uint64_t seed, std::uint64_t most,
           const std::set<std::string>& wanted) const;
  // One that is there already is replaced.
  void add(const std::string& subject, sim::Strategy strategy, std::uint64_t seed, OneHunt hunt);
  void add(const std::string& subject, SmallFailure small) { small_[subject] = std::move(small); }
  void describe(const std::string& subject, Described described) {
    subjects_[subject] = std::move(described);
  }
  // Of these alone: what is no longer there is forgotten.
  void keep(const std::set<std::string>& subjects);

  using Hunts = std::map<std::uint64_t, OneHunt>;  // by seed
  // By subject and strategy.
  const std::map<std::pair<std::string, std::string>, Hunts>& hunts() const { return hunts_; }
  const std::map<std::string, SmallFailure>& small() const { return small_; }

 private:
  std::map<std::string, Described> subjects_;
  std::map<std::pair<std::string, std::string>, Hunts> hunts_;
  std::map<std::string, SmallFailure> small_;
};

}  // namespace holdfast::tools
