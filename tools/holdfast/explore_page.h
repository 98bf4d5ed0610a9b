// The page of `holdfast explore --page`.
#pragma once

#include <string>
#include <vector>

#include "sim/explore/explore.h"
#include "sim/explore/lineage.h"
#include "tools/holdfast/commands.h"

namespace holdfast::tools {

struct ExplorePage {
  std::string bound;                      // "at most 2 things go otherwise"
  std::vector<std::string> complete_for;  // of what it holds
};

// Records the runs that it shows, writes it, says what is on it, and opens it if that was asked for. False:
// it could not be written, which was told.
bool write_explore_page(const ExploreArguments& arguments, const sim::ExploreOptions& options,
                        const sim::ExploreState& state, const sim::Lineage& lineage, const ExplorePage& page);

}  // namespace holdfast::tools
