// Coverage: what a run came through that no run before it did.
//
// A feature is something that happened: a mark; one thing after another at one lock (a grant after the loss
// of another's, a renewal beside a removal), by the same party or another; one thing while a kind of fault
// acts; how many hold and wait. Features are hashes: what they mean is forgotten.
//
// Source: AFL's edges (Zalewski, 2014), of what happened instead of code.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "checker/history/history.h"

namespace holdfast::sim {

struct Feature {
  std::uint64_t hash = 0;
  std::int64_t at_ns = 0;  // when it first showed, on the world's clock
};

// Each once, by moment. O(events * faults that act at one time).
std::vector<Feature> features_of(const checker::History& history);

class Coverage {
 public:
  // Those that are new; they count as seen from now on.
  std::vector<Feature> add(const std::vector<Feature>& features);
  std::size_t size() const { return seen_.size(); }

 private:
  std::set<std::uint64_t> seen_;
};

}  // namespace holdfast::sim
