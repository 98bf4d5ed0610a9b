// Operations about which a search has no choice. Both reductions lose nothing.
//
// An operation that is legal now is taken at once
//   - if it never changes a state (Model::observes): in any linearization it can be moved to this place;
//   - if it only frees (Model::frees) and its owner does one thing after another: no operation of its owner
//     stands between this place and its own, and those of others stay legal. If its outcome is unknown its
//     owner does nothing afterwards, so that it can also be put into a linearization that lacks it.
// An operation of unknown outcome that only burdens (Model::burdens) and whose owner does nothing afterwards
// never happens: a linearization that has it is one without it, too.
#pragma once

#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

// By operation: it is taken as soon as it is legal. REQUIRES (both): `operations` in the order of their
// invocations.
std::vector<bool> forced_operations(const std::vector<Operation>& operations, const Model& model);

// The operations that may happen, by index, ascending.
std::vector<std::size_t> possible_operations(const std::vector<Operation>& operations, const Model& model);

}  // namespace holdfast::checker
