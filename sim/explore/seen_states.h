// The states that a search has come to, each with the deviations that it took to get there.
//
// A state is known by its digest of 64 bits: among n states two are taken for one with a probability of
// n² / 2^65, among a hundred million of them one in 3,700.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <map>

#include "sim/explore/search.h"

namespace holdfast::sim {

class SeenStates {
 public:
  // A way came there with no more deviations of any kind: all that can come of it is gone into from there.
  bool covers(std::uint64_t state, const Deviations& used) const {
    const auto found = first_.find(state);
    if (found == first_.end()) return false;
    if (found->second.within(used)) return true;
    for (auto [at, end] = others_.equal_range(state); at != end; ++at) {
      if (at->second.within(used)) return true;
    }
    return false;
  }
  // REQUIRES: !covers(state, used)
  void add(std::uint64_t state, const Deviations& used) {
    const auto [found, is_new] = first_.try_emplace(state, used);
    if (is_new) return;
    if (used.within(found->second)) {
      found->second = used;
    } else {
      others_.emplace(state, used);
    }
  }
  std::size_t size() const { return first_.size(); }

 private:
  boost::unordered_flat_map<std::uint64_t, Deviations> first_;
  std::multimap<std::uint64_t, Deviations> others_;  // what was not fewer of all kinds
};

}  // namespace holdfast::sim
