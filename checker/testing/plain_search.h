// A plain search for an order of the operations of one key, to compare search.h with.
//
// The algorithm of J. Wing and C. Gong, "Testing and verifying concurrent objects", Journal of Parallel and
// Distributed Computing 17 (1993), with the cache of G. Lowe, "Testing for linearizability", Concurrency
// and Computation: Practice and Experience 29 (2017), as Porcupine has it: calls and returns in a linked
// list; each operation that is called before the first return is tried in the order of the calls; what has
// happened, a bit an operation, and the state are cached. Nothing is pruned and no order is preferred. An
// operation of unknown outcome has a call and no return.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

struct PlainResult {
  std::optional<bool> linearizable;  // nullopt: it has spent its configurations
  std::uint64_t configurations = 0;  // cached
  std::uint64_t steps = 0;           // of the model
};

// Caches up to `most` configurations. REQUIRES: `operations` in the order of their invocations.
PlainResult plain_search(const std::vector<Operation>& operations, const Model& model, std::uint64_t most);

}  // namespace holdfast::checker
