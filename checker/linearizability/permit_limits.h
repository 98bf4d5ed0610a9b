// A semaphore whose limit changes, for linear_semaphore(). The proofs are in models/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checker/linearizability/models/model.h"

namespace holdfast::checker {

// From `from` on there are `value` permits: the greatest limit that the resizes allow at each moment. A limit
// rises at the call of its resize, and falls at the return.
struct PermitLimit {
  std::int64_t from = 0, value = 0;
  std::size_t operation = 0;  // the resize
};

// In the order of time. nullopt: resizes are concurrent, or one of unknown outcome can make room.
std::optional<std::vector<PermitLimit>> permit_limits(const std::vector<Operation>& operations,
                                                      std::int64_t permits, std::string& why_not);

// Permits that are given back at the invocation of a release (taken < 0), or that are held from the return of
// an acquire at the latest.
struct PermitStep {
  std::int64_t rank = 0, taken = 0;
  std::size_t operation = 0;
};

// The operation whose return cannot be explained; nullopt: there is none. O(n log n) for n operations.
std::optional<std::size_t> stuck_below_limits(const std::vector<Operation>& operations, std::int64_t permits,
                                              const std::vector<PermitLimit>& limits,
                                              std::vector<PermitStep> steps);

}  // namespace holdfast::checker
