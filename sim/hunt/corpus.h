// Corpus: the cases that came through something new, and what is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/hunt/coverage.h"
#include "sim/hunt/dice.h"
#include "sim/hunt/ground.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

struct Derived {
  HuntCase one;
  std::optional<std::size_t> parent;  // in the corpus; none: drawn from nothing
};

// One that is kept.
struct CorpusEntry {
  HuntCase one;
  std::int64_t moment_ns = 0;         // when it was new
  std::uint64_t tries = 0, paid = 0;  // children that were run, and those that brought something new
  bool spent = false;                 // it had its budget; its case is gone
};

class Corpus {
 public:
  // `ground` outlives it. `entries`: of an earlier hunt, in their order.
  Corpus(const Ground& ground, std::uint64_t seed, std::vector<CorpusEntry> entries = {});

  // The case of that run: from nothing, from a change, or from a moment of one that is here. It depends on
  // the number and on what is here. Thread safety: several at a time, while nobody calls take().
  Derived derive(std::uint64_t number) const;
  // From nothing: it depends on the number alone.
  Derived draw(std::uint64_t number) const;

  // It was run, and that was new in it. A parent whose children bring nothing new is given up in the end.
  void take(const Derived& derived, const std::vector<Feature>& fresh);
  std::size_t size() const { return entries_.size(); }
  std::vector<CorpusEntry> take_entries() { return std::move(entries_); }

 private:
  std::optional<std::size_t> choose(Dice& dice) const;
  HuntCase change(const HuntCase& from, Dice dice) const;
  HuntCase go_on(const CorpusEntry& from, Dice dice) const;

  const Ground& ground_;
  const std::uint64_t seed_;
  std::size_t given_faults_ = 0;
  std::vector<CorpusEntry> entries_;
};

}  // namespace holdfast::sim
