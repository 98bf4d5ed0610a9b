// Search: linearizability of one key under any model.
//
// Two searches take turns, and the first to decide wins: breadth first (breadth_search.h), whose memory grows
// with the concurrency of the history only and which shows soonest that there is no order; and depth first
// (depth_search.h), which finds an order soonest. Either is right alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct SearchProgress {
  std::size_t settled = 0, operations = 0;  // an order is known for the first ones to return; of how many
  std::uint64_t steps = 0;                  // configurations looked at, by both
};

struct SearchBudget {
  std::uint64_t bytes = std::uint64_t{1} << 30;  // of both together, growing vectors included
  std::uint64_t steps = 2'000'000'000;  // configurations looked at, by both; eight comparisons count as one
  // Asked before the first and then every few thousand configurations, some tens of milliseconds apart. Not
  // null: the search ends out of budget, and has spent this ("time"). The text outlives the result.
  std::function<const char*(const SearchProgress&)> stop = {};
};

enum class SearchOutcome : std::uint8_t { linearizable, not_linearizable, out_of_budget };

struct SearchResult {
  SearchOutcome outcome = SearchOutcome::linearizable;
  std::size_t stuck = 0;     // not_linearizable: index of the operation whose return no order explains
  std::uint64_t steps = 0;   // configurations looked at
  std::uint64_t widest = 0;  // most configurations at one time
  const char* spent = "";    // out_of_budget: "memory", "steps" or what SearchBudget::stop said
  // The first ones to return for which an order is known, together. not_linearizable: all before `stuck`.
  std::size_t settled = 0;
};

// REQUIRES: `operations` in the order of their invocations.
SearchResult search(const std::vector<Operation>& operations, const Model& model,
                    const SearchBudget& budget = {});

}  // namespace holdfast::checker
