// How many hunted runs it takes to find a planted version.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/hunt/hunt.h"
#include "sim/planted/planted.h"

namespace holdfast::sim {

// How the hunt looks. all: as it does by itself. no_feedback: no case is changed or gone on with.
// no_targets: faults at times alone, and of all kinds in each case.
enum class Strategy { all, no_feedback, no_targets };
inline constexpr Strategy kStrategies[] = {Strategy::all, Strategy::no_feedback, Strategy::no_targets};

struct Search {
  std::optional<std::uint64_t> runs;  // until the first find; none: not found
  std::string promise;                // that was broken
  std::string why;                    // in that run
  std::uint64_t tried = 0;            // runs
};

// Hunts the kind until a promise of it is broken, for `most` runs at most.
Search search_for(const LockKind& kind, Strategy strategy, std::uint64_t seed, std::uint64_t most);

// The middle one, the lower of two; none: more than half were not found.
std::optional<std::uint64_t> median_runs(const std::vector<Search>& searches);

}  // namespace holdfast::sim
