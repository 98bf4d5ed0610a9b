// explore_table: a small scenario, explored with each planted version of its lock: which of them it breaks,
// in how many executions, and how many things are other than usual in the first run that does.
#pragma once

#include <cstdint>
#include <string>

#include "sim/explore/explore.h"

namespace holdfast::tools {

struct ExploreTableOptions {
  std::string file;                // its base is explored
  sim::ExploreOptions bound = {};  // but for `ground`
  std::string only;                // locks whose name has this text
  std::uint64_t jobs = 1;
};

// Tells each version in a line of standard output, the lock as it ships first; the table, for a page. Throws
// BadScenario.
std::string explore_table(const ExploreTableOptions& options);

}  // namespace holdfast::tools
