// make_record: hunts what a track record lacks, for as long as it may.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/time.h"
#include "sim/planted/measure.h"
#include "tools/planted/subjects.h"
#include "tools/planted/track_record.h"

namespace holdfast::tools {

struct MakeRecordOptions {
  std::string path;         // of the record, which is gone on with
  std::uint64_t hunts = 5;  // of each subject and strategy: with the seeds from `seed` on
  std::uint64_t seed = 1;
  std::vector<sim::Strategy> strategies{std::begin(sim::kStrategies), std::end(sim::kStrategies)};
  std::uint64_t runs = 1'024;  // the most of one hunt
  std::uint64_t jobs = 1;
  bool whole = true;             // these are all: what else is in the record is forgotten
  bool small = true;             // make the first find of each subject small
  std::uint64_t real = 0;        // run what is small so often on real servers
  std::optional<Duration> time;  // begins nothing new after it; none: until all is there
};

// What the first hunts with `all` find is made small at once. All subjects have their first hunt with all
// strategies before any has its second, so that what is there when the time is over compares. Writes the
// record again and again; SIGINT ends it with what there is. Returns how much is still missing.
std::size_t make_record(const std::vector<Subject>& subjects, const MakeRecordOptions& options);

}  // namespace holdfast::tools
