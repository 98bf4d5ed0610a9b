// Search: linearizability of one key under any model, by just-in-time linearization.
//
// After G. Lowe, "Testing for linearizability", Concurrency and Computation: Practice and Experience 29
// (2017). The search reads calls and returns in order, and keeps the set of all configurations: the state of
// the model, and which pending operations have happened. When an operation returns, each configuration in
// which it has not happened is extended by other pending operations, in every order that the model allows,
// until it can happen. If no configuration is left, the history is not linearizable, and this return is the
// one that no order explains. Only pending operations are kept, so memory grows with the concurrency of the
// history, not with its length.
//
// Three reductions lose nothing:
//   - Pending operations that are equal for the model are interchangeable. The one that returns first goes
//     first, those of unknown outcome last. (Not so one whose process invokes its next operation at the time
//     of its return.)
//   - An operation of unknown outcome need never happen. Of two configurations that differ only in those, the
//     one that has used more of them is dropped.
//   - States of the model are numbered, and each step is computed once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct SearchBudget {
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint64_t steps = 2'000'000'000;  // configurations looked at
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
