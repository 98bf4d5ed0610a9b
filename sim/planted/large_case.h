// Large cases: failing runs with far more in them than the failure needs, to measure what shrinking makes of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/hunt/ground.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

struct LargeCase {
  HuntCase one;
  std::string promise;  // that it breaks
};

struct LargeOptions {
  std::uint64_t seed = 1;
  std::size_t faults = 60;  // that it has, if so many fit to what was drawn
  std::uint64_t clients = 20;
  std::uint64_t tries = 40;  // cases that are drawn until one fails
  bool goes_on = false;      // with fresh draws from a moment of its run on, as hunts go on
};

// The first case of that size that breaks a promise. It depends on the lock and the options alone. nullopt:
// none of the tries did.
std::optional<LargeCase> large_case(const LockKind& lock, const LargeOptions& options);

}  // namespace holdfast::sim
