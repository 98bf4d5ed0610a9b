// A sale that oversold, kept as `holdfast run --out` keeps a run.
#pragma once

#include <string>

#include "sim/scenario/run.h"

namespace holdfast::tools {

// Below `out`, in a folder named after the cell: with the scenario that it was, so that it can be run again.
// REQUIRES: `run` has its history, and was asked for `oversell` alone. Throws OutputError.
void keep_sale(const std::string& out, const sim::Scenario& scenario, const std::string& name,
               const sim::RunResult& run, bool embedded);

}  // namespace holdfast::tools
