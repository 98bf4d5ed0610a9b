// The exclusion sweep finds spans of one key that may not overlap and do, in O(n log n).
//
// Two spans [s1, e1] and [s2, e2] overlap when s1 < e2 and s2 < e1. Equal times are concurrent: either order
// is possible, so they force no conflict. The proof is in checker/README.md.
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
  std::int64_t limit = 0;  // of a semaphore, when this span began; 0: rules.permits
  bool shared = false;     // may overlap other shared spans
  std::size_t number = 0;  // the caller's name of it; ties are put in this order
};

struct ExclusionRules {
  bool reentrant = false;  // one owner may overlap itself
  // > 0: a semaphore of that many permits. 0: spans conflict in pairs, except where they have a limit.
  std::int64_t permits = 0;
};

// Whether two spans conflict. Ignores rules.permits.
bool conflict(const Span& a, const Span& b, const ExclusionRules& rules);

// A span that began while others excluded it. `with` has the numbers of the fewest others that exclude it,
// ascending: one span, or for a semaphore those with the most permits.
struct Conflict {
  std::size_t number = 0;
  std::vector<std::size_t> with;
  std::int64_t from_ns = 0, to_ns = 0;  // while all of them overlap
};

// One conflict for each span that conflicts with one that began before it, by time. At equal times the
// sweep's order decides which one began before. Sorts `spans` in place. Keeps the `keep` earliest conflicts
// and counts all.
struct ExclusionResult {
  std::vector<Conflict> conflicts;
  std::uint64_t count = 0;
};
ExclusionResult sweep_exclusion(std::vector<Span>& spans, const ExclusionRules& rules,
                                std::size_t keep = SIZE_MAX);

}  // namespace holdfast::checker
