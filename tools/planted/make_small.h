// make_small: what is made of a failure that a hunt found: its smallest scenario, with what our own lock does
// in it, and what real servers do. run_on_real_servers: the last of these, of one that is small already.
#pragma once

#include <cstdint>

#include "tools/planted/subjects.h"
#include "tools/planted/track_record.h"

namespace holdfast::tools {

// `real`: how often it is run on real servers, 0: not at all. REQUIRES: the search found something
SmallFailure make_small(const Subject& subject, const sim::Search& search, std::uint64_t real);

// What was counted there before is forgotten. False: SIGINT came before the last run, and nothing changed.
bool run_on_real_servers(SmallFailure& small, std::uint64_t runs);

}  // namespace holdfast::tools
