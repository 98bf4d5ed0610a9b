// [run] calm and stay_broken: when the faults are over, and what is not healed then.
#pragma once

#include "sim/scenario/scenario.h"

namespace holdfast::sim {

// `run`: the table. REQUIRES: the cluster has been read. Throws BadScenario.
void parse_calm(const Value& run, Scenario& scenario);

}  // namespace holdfast::sim
