// BreadthSearch: linearizability of one key under any model, by just-in-time linearization.
//
// After G. Lowe, "Testing for linearizability", Concurrency and Computation: Practice and Experience 29
// (2017). The search reads calls and returns in order, and keeps the set of all configurations: the state
// of the model, and which pending operations have happened. When an operation returns, each configuration
// in which it has not happened is extended by other pending operations, in every order that the model
// allows, until it can happen. If no configuration is left, the history is not linearizable, and this
// return is the one that no order explains. Only pending operations are kept, so memory grows with the
// concurrency of the history, not with its length.
//
// These reductions lose nothing:
//   - Pending operations that are equal for the model are interchangeable. The one that returns first goes
//     first, those of unknown outcome last. (Not so one whose process invokes its next operation at the
//     time of its return.)
//   - An operation of unknown outcome need never happen. Of two configurations that differ only in those,
//     the one that has used more of them is dropped.
//   - What is forced (forced.h) happens at once. Of two configurations that differ only in which operations
//     that change no state have still to happen, the one with more of them is dropped.
//   - A write that overwrites whatever is there (Model::overwrites) may hide: another one after it, and
//     nothing sees it. So each overwriting operation leaves the other pending ones settled, but free to be
//     taken as long as they have not returned. Of two configurations that differ only in these, the one in
//     which fewer can be taken, or are settled, is dropped.
//   - States of the model are numbered, and each step is computed once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "checker/linearizability/search.h"

namespace holdfast::checker {

class BreadthSearch {
 public:
  // REQUIRES: `operations` in the order of their invocations. They and the model outlive the search.
  BreadthSearch(const std::vector<Operation>& operations, const Model& model, std::uint64_t bytes);
  ~BreadthSearch();
  // Looks at about `steps` more configurations; eight comparisons count as one. nullopt: not decided yet.
  std::optional<SearchResult> advance(std::uint64_t steps);
  std::size_t settled() const;   // as in SearchProgress
  std::uint64_t widest() const;  // most configurations at one time

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace holdfast::checker
