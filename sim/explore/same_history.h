// The digest of a history that is the same for all orders of its events in which none of one process at one
// time changes places with another of that process.
#pragma once

#include <cstdint>

#include "checker/history/history.h"

namespace holdfast::sim {

// The ledger's events count as of the client whose command it was; those of the nemesis of one time, which
// several parties tell, as of nobody.
std::uint64_t digest_of_same(const checker::History& history);

}  // namespace holdfast::sim
