// Explain: what an expectation asked for beside what the runs showed, in one sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/scenario/judge.h"

namespace holdfast::tools {

// "lease-exclusion: expected double-grant on all seeds, found overrun on 3 of 50 runs (seeds 1, 2, 3)".
// REQUIRES: it was not met.
std::string explain(const sim::Expectation& expectation, const sim::Tally& tally);

// It was judged, and not met: neither met nor run on too few seeds to tell.
bool is_unmet(const sim::Expectation& expectation, const sim::Tally& tally);

// The seed that shows best why it was not met; nullopt when it was met, or nothing was run.
std::optional<std::uint64_t> culprit(const sim::Expectation& expectation, const sim::Tally& tally);

// What the check said of that seed, or "".
std::string reason_of(const sim::Expectation& expectation, const sim::Tally& tally);

// 1234567 -> "1,234,567".
std::string with_commas(std::uint64_t number);

}  // namespace holdfast::tools
