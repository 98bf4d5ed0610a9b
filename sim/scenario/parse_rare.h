// [rare]: what the ports of the clients do now and then (sim/world/rare.h).
#pragma once

#include "sim/scenario/document.h"
#include "sim/world/rare.h"

namespace holdfast::sim {

// Throws BadScenario.
RareOptions parse_rare(const Value& table);

}  // namespace holdfast::sim
