// Values with units, as scenario files and flags write them: "1500ms", "1ms..5ms", "60%", "1..200", ">= 90%".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/fault/fault.h"

namespace holdfast::sim {

// "250us", "1.5s", "-3s", "2m", "1h"; ns, us, ms, s, m, h. nullopt: not a duration, or beyond some 290 years.
std::optional<Duration> parse_duration(std::string_view text);
// "1ms..5ms" or one duration for both ends. nullopt: not a range, or high below low.
std::optional<DurationRange> parse_duration_range(std::string_view text);
// "1500ms" again: a whole number of the largest unit that fits.
std::string format_duration(Duration value);

// "60%" -> 60. 0 to 100.
std::optional<std::int64_t> parse_percent(std::string_view text);

// Seeds: "7", "1..200", "1..10,42", or "random:N" (drawn by the command, then shown).
struct SeedSet {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;  // both ends included
  std::uint64_t random = 0;                                     // how many to draw
  std::uint64_t count() const;
  std::uint64_t at(std::uint64_t index) const;  // REQUIRES: random == 0, index < count()
};
std::optional<SeedSet> parse_seeds(std::string_view text);

// How many of the seeds that are run must show what is expected: "all", ">= 90%", "<= 5", "== 0".
struct SeedQuota {
  enum class Relation { at_least, at_most, exactly };
  Relation relation = Relation::at_least;
  std::uint64_t number = 100;
  bool percent = true;
  bool met(std::uint64_t matching, std::uint64_t runs) const;  // integers only
  std::string to_string() const;
};
std::optional<SeedQuota> parse_seed_quota(std::string_view text);

}  // namespace holdfast::sim
