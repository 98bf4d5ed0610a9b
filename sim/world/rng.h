// Random numbers of a world: integers only, one draw per statement, one stream per part.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::sim {

// SplitMix64 (Steele, Lea, Flood 2014). A stream is derived from (seed, name), so that a part that draws more
// or less than before moves no other part's draws.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  static Rng derive(std::uint64_t seed, std::string_view name);

  std::uint64_t next();
  std::uint64_t between(std::uint64_t low, std::uint64_t high);  // uniform, both ends included
  bool chance(std::uint64_t numerator, std::uint64_t denominator);

 private:
  std::uint64_t state_;
};

}  // namespace holdfast::sim
