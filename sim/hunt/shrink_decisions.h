// Few decisions: of all that was drawn in a run that breaks a promise, what has to be drawn so.
//
// A run is a list of decisions (sim/world/decisions.h). At first all of them are fixed as they were drawn;
// then whole streams are left to the seed again, halves, quarters, single decisions (delta debugging), for as
// long as it still shows; at last what is left becomes as small as it can be.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "sim/hunt/trial.h"

namespace holdfast::sim {

// `shows`: whether the case still breaks the promise; one run or several. `over`: the budget is spent, make
// do with what there is. nullopt: it does not show with all decisions fixed, or not within the budget.
// Of the case's own changes nothing else is left: no reseeds.
std::optional<Changes> few_decisions(const HuntCase& one, const std::function<bool(const HuntCase&)>& shows,
                                     const std::function<bool()>& over);

std::size_t count_of(const Changes& changes);  // decisions that are fixed, and reseeds

}  // namespace holdfast::sim
