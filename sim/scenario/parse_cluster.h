// The table [cluster] of a scenario file.
#pragma once

#include <string_view>

#include "sim/scenario/document.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {

// Throws BadScenario at `at` when the servers are not of the engine that `what` ("lock") `name` needs.
void needs_engine(std::string_view what, std::string_view name, std::string_view engine,
                  const Scenario& scenario, const Position& at);
// Throws BadScenario.
void parse_cluster(const Value& table, Scenario& scenario);

}  // namespace holdfast::sim
