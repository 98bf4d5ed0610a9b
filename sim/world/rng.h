// Random numbers of a world: integers only, one draw per statement, one stream per part.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::sim {

class DecisionStream;

// SplitMix64 (Steele, Lea, Flood 2014). A stream is derived from (seed, name), so that a part that draws more
// or less than before moves no other part's draws. Each draw is a decision of the run, named by its stream
// and its number in it: decisions.h.
class Rng {
 public:
  // A stream without a name: nobody writes down what it draws.
  explicit Rng(std::uint64_t seed) : origin_(seed), state_(seed) {}
  static Rng derive(std::uint64_t seed, std::string_view name);
  // A stream of its own, below this one. It depends on the name, not on what this one has drawn.
  Rng child(std::string_view name) const;
  // The same draws from here on, but nobody writes them down.
  Rng unnamed() const;

  std::uint64_t next();
  std::uint64_t between(std::uint64_t low, std::uint64_t high);  // uniform, both ends included
  bool chance(std::uint64_t numerator, std::uint64_t denominator);

 private:
  friend class Decisions;
  friend class DecisionStream;

  std::uint64_t raw();
  std::uint64_t uniform(std::uint64_t low, std::uint64_t high);

  std::uint64_t origin_, state_;
  std::uint64_t number_ = 0;  // of the next draw
  std::uint64_t reseeds_ = 0;
  DecisionStream* stream_ = nullptr;  // null: drawn by the seed alone, and not written down
};

}  // namespace holdfast::sim
