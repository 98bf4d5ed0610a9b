// What several hunts found, as one.
#pragma once

#include <vector>

#include "sim/hunt/hunt.h"

namespace holdfast::sim {

// The shards of one hunt without feedback: exactly what one hunt of all the runs gives.
// REQUIRES: all of them, in their order, each whole.
HuntState join_shards(const std::vector<HuntState>& shards);

// Hunts of one ground with feedback, each of a seed of its own: the union of their corpora, coverage and
// finds.
// Of a find that several have, the one after the fewest runs counts as first. In their order.
HuntState join_hunts(const std::vector<HuntState>& hunts);

}  // namespace holdfast::sim
