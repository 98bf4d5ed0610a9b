// The faults of a scenario by their kinds.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sim/fault/fault.h"
#include "sim/scenario/scenario.h"

namespace holdfast::tools {

// Of those that may act, each once, in the order of the file.
inline std::vector<std::string> fault_kinds(const sim::Scenario& scenario) {
  std::vector<std::string> kinds;
  for (const sim::FaultPlan& fault : scenario.faults) {
    const std::string name(fault.kind->name);
    if (fault.enabled && std::find(kinds.begin(), kinds.end(), name) == kinds.end()) kinds.push_back(name);
  }
  return kinds;
}

}  // namespace holdfast::tools
