// Search: linearizability of one key under any model, by just-in-time linearization.
//
// After G. Lowe, "Testing for linearizability" (2017): go through the events; keep the set of all
// configurations (model state, which pending operations have happened). When an operation returns, each
// configuration in which it has not happened is extended by other pending operations, in every order that the
// model allows, until it can happen. No configuration left: not linearizable, and this return is where it
// sticks. Only pending operations are kept, so memory is the width of the history, not its length; a returned
// operation's place is used again.
//
// Three reductions, each without loss:
//   - operations that are equal for the model are interchangeable while pending: the one that returns first
//     goes first, those of unknown outcome last (except one whose process invokes the next at the very time
//     of its return);
//   - an unknown operation need never happen, so of two configurations that differ only in that one has used
//     more of them, that one is dropped;
//   - model states are numbered, and each step is computed once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct SearchBudget {
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint64_t steps = 2'000'000'000;  // configurations looked at, over one key
};

enum class SearchOutcome : std::uint8_t { linearizable, not_linearizable, out_of_budget };

struct SearchResult {
  SearchOutcome outcome = SearchOutcome::linearizable;
  std::size_t stuck = 0;     // not_linearizable: index of the operation whose return nothing explains
  std::uint64_t steps = 0;   // configurations looked at
  std::uint64_t widest = 0;  // most configurations at one time
  const char* spent = "";    // out_of_budget: "memory" or "steps"
};

// REQUIRES: `operations` in the order of their invocations.
SearchResult search(const std::vector<Operation>& operations, const Model& model,
                    const SearchBudget& budget = {});

}  // namespace holdfast::checker
