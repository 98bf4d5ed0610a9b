// The operations of a lock whose holds end by themselves, from its holds (holds.h).
#pragma once

#include <vector>

#include "checker/linearizability/operations.h"

namespace holdfast::checker {

// Each hold becomes an acquire, and a release of unknown outcome: it takes effect at any time from the end of
// the claim on, or never. A hold that begins under another one of its owner, as when a writer reads, has the
// same owner; else each hold has its own, so that none constrains another one's order.
// Throws HistoryError. O(n log n).
std::vector<KeyOperations> extract_leases(const History& history, const ExtractOptions& options);

}  // namespace holdfast::checker
