// One document as a scenario: what parse_scenario.cc and parse_variants.cc share.
#pragma once

#include <string>

#include "sim/scenario/document.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {

// Reads everything but the variants. Throws BadScenario.
Scenario parse_base(const Value& document, const std::string& file);

// Letters, digits, - and _; not empty, not long.
bool is_name(const std::string& name);

}  // namespace holdfast::sim
