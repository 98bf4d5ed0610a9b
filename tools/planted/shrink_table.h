// shrink_table: large failing cases, made small: what it costs and what comes out, as a page of results/.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::tools {

struct ShrinkTableOptions {
  std::uint64_t cases = 2;  // of each lock
  std::uint64_t seed = 1, jobs = 1;
  std::string only;  // locks whose name has this text
};

// Tells each case in a line of standard output; the page does not depend on the number of jobs.
std::string shrink_table(const ShrinkTableOptions& options);

}  // namespace holdfast::tools
