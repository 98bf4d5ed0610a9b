// The table [cluster] of a scenario file.
#pragma once

#include "sim/scenario/document.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {

// Throws BadScenario.
void parse_cluster(const Value& table, Scenario& scenario);

}  // namespace holdfast::sim
