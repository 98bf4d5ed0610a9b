// [[fault]] tables: kind, trigger and the kind's own keys, and what they must be together.
#pragma once

#include <vector>

#include "sim/scenario/parse_setting.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/table_reader.h"

namespace holdfast::sim {

// Reads one table. Throws BadScenario.
FaultPlan parse_fault(const Value& table, const SettingNames& names);

// Throws BadScenario for a fault that could never act because of what the others are: its trigger waits for a
// fault that is not enabled or waits for this one, `during` names a fault that is over when this one acts, it
// is due after the end of the run. `tables`: of the faults, in the same order.
void check_faults(const std::vector<Value>& tables, const std::vector<FaultPlan>& faults, Duration run_time);

}  // namespace holdfast::sim
