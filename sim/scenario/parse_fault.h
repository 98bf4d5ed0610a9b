// [[fault]] tables: kind, trigger and the kind's own keys.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/scenario/table_reader.h"

namespace holdfast::sim {

// What a fault may refer to.
struct FaultNames {
  std::vector<std::string> nodes, clients, faults;
};

// Reads one table. Throws BadScenario.
FaultPlan parse_fault(const Value& table, const FaultNames& names);

}  // namespace holdfast::sim
