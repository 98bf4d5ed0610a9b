// How many hunted runs it takes to find a planted version, or what is known of a published design.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/hunt/hunt.h"
#include "sim/planted/planted.h"

namespace holdfast::sim {

// How the hunt looks. all: as it does by itself. Three leave one thing out: no case is changed or gone on
// with; faults act at times, not at the moments that matter; every case has all kinds of faults. The others
// have one order of tasks in all cases, which otherwise is drawn.
enum class Strategy {
  all,
  no_feedback,
  no_targets,
  no_swarm,
  random_order,
  priorities,
  partial_order,
  chains
};
inline constexpr Strategy kStrategies[] = {
    Strategy::all,          Strategy::no_feedback, Strategy::no_targets,    Strategy::no_swarm,
    Strategy::random_order, Strategy::priorities,  Strategy::partial_order, Strategy::chains};
std::string_view to_string(Strategy strategy);  // "all", "no feedback", ...

struct Search {
  std::optional<std::uint64_t> runs;           // until the first find; none: not found
  std::string promise;                         // that was broken then
  std::string why;                             // in that run
  HuntCase first;                              // that run
  std::map<std::string, std::uint64_t> found;  // by promise: runs until it was broken
  std::uint64_t tried = 0;                     // runs
};

// Hunts the kind until all promises of `wanted` are broken, for `most` runs at most; none are named: until
// any is. Of a promise without its kind ("progress") any kind counts.
Search search_for(const LockKind& kind, Strategy strategy, std::uint64_t seed, std::uint64_t most,
                  const std::set<std::string>& wanted = {});
// Whether one of these is `wanted`.
bool has_promise(const std::map<std::string, std::uint64_t>& found, const std::string& wanted);

}  // namespace holdfast::sim
