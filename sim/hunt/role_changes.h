// Role changes: how often a server became another one while somebody relied on a lock.
#pragma once

#include <cstdint>

#include "checker/history/history.h"

namespace holdfast::sim {

// How many servers were promoted, demoted or started again during at least one claim (checker/holds/holds.h).
// O(claims * changes).
std::uint64_t role_changes_in_claims(const checker::History& history);

}  // namespace holdfast::sim
