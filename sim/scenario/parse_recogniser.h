// Recognisers as text: the shipped ones (sim/watched/recognisers/*.toml), and those of a scenario file.
#pragma once

#include <string_view>
#include <vector>

#include "sim/scenario/document.h"
#include "sim/watched/pattern.h"

namespace holdfast::sim {

// The table [[pattern]] and what stands beside it. Throws BadScenario.
Recogniser parse_recogniser(const Value& table, const std::string& where);

// In order of their names.
const std::vector<Recogniser>& shipped_recognisers();
const Recogniser* find_recogniser(std::string_view name);  // nullptr: none

}  // namespace holdfast::sim
