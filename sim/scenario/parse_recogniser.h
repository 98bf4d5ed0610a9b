// Recognisers as text: the shipped ones (sim/watched/recognisers/*.toml), and those of a scenario file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/table_reader.h"
#include "sim/settings/setting.h"
#include "sim/watched/pattern.h"

namespace holdfast::sim {

// The table [[pattern]] and what stands beside it. Throws BadScenario.
Recogniser parse_recogniser(const Value& table, const std::string& where);

// How a file's clients are judged: by `judge` and `recogniser` of its [workload], whose values are
// `workload`, or by its own [recogniser]. nullptr: they tell. Throws BadScenario.
std::shared_ptr<const Recogniser> parse_judge(TableReader& root, const TableReader& reader,
                                              const SettingValues& workload);

// In order of their names.
const std::vector<Recogniser>& shipped_recognisers();
const Recogniser* find_recogniser(std::string_view name);  // nullptr: none

}  // namespace holdfast::sim
