// Search: linearizability of one key under any model.
//
// Two searches take turns, and the first to decide wins: breadth first (breadth_search.h), whose memory grows
// with the concurrency of the history only and which shows soonest that there is no order; and depth first
// (depth_search.h), which finds an order soonest. Either is right alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct SearchBudget {
  std::uint64_t bytes = std::uint64_t{1} << 30;  // of both together
  std::uint64_t steps = 2'000'000'000;  // configurations looked at, by both; eight comparisons count as one
};

enum class SearchOutcome : std::uint8_t { linearizable, not_linearizable, out_of_budget };

struct SearchResult {
  SearchOutcome outcome = SearchOutcome::linearizable;
  std::size_t stuck = 0;     // not_linearizable: index of the operation whose return no order explains
  std::uint64_t steps = 0;   // configurations looked at
  std::uint64_t widest = 0;  // most configurations at one time
  const char* spent = "";    // out_of_budget: "memory" or "steps"
};

// REQUIRES: `operations` in the order of their invocations.
SearchResult search(const std::vector<Operation>& operations, const Model& model,
                    const SearchBudget& budget = {});

}  // namespace holdfast::checker
