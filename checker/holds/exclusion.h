// Exclusion sweep: which intervals of one key may not overlap but do, in O(n log n).
//
// Two intervals [s1, e1] and [s2, e2] overlap when s1 < e2 and s2 < e1: equal times are concurrent, so that
// either order is possible and no conflict is forced. The proof of the sweep is in README.md.
#pragma once

#include <cstdint>
#include <vector>

#include "checker/history/history.h"

namespace holdfast::checker {

struct Span {
  std::int64_t from_ns = 0, to_ns = 0;  // REQUIRES: from_ns <= to_ns
  Symbol key = 0;
  Symbol owner = 0;
  std::uint32_t permits = 1;
  bool shared = false;     // shares with all that share
  std::size_t number = 0;  // what the caller knows it by; ties are put in its order
};

struct ExclusionRules {
  bool reentrant = false;    // one owner may overlap itself
  std::int64_t permits = 0;  // > 0: a semaphore of that many; else spans conflict in pairs
};

// Whether the two spans may not both be there (pairs; without permits).
bool conflict(const Span& a, const Span& b, const ExclusionRules& rules);

// A span that began although others were there: `with` are the numbers of the fewest others that forbid it
// (one, or for a semaphore those with most permits), in ascending order.
struct Conflict {
  std::size_t number = 0;
  std::vector<std::size_t> with;
  std::int64_t from_ns = 0, to_ns = 0;  // while all of them were there
};

// One Conflict for each span that conflicts with one that began before it (ties: as the sweep orders them),
// by time. `spans` is sorted in place. Beyond `keep` conflicts they are only counted.
struct ExclusionResult {
  std::vector<Conflict> conflicts;
  std::uint64_t count = 0;
};
ExclusionResult sweep_exclusion(std::vector<Span>& spans, const ExclusionRules& rules,
                                std::size_t keep = SIZE_MAX);

}  // namespace holdfast::checker
