// Lineage: of each run of a search, which one it comes from, and how it ended.
//
// A run goes as its parent does up to its last deviation. The first run, in which nothing goes otherwise, is
// the parent of those with one deviation. Runs are told of in the order of the search, so a parent comes
// before its children.
//
// Memory: 48 bytes a run and 16 bytes a state, beside what the search itself keeps.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "sim/explore/search.h"

namespace holdfast::sim {

class Lineage {
 public:
  enum class End : std::uint8_t { kept, joined, broke };  // promises; a state that was seen; a promise
  struct Run {
    std::uint32_t parent = 0;  // a place in runs(); the first run's is its own
    Deviation last = {};       // from the parent; the first run has none
    std::uint32_t size = 0;    // deviations
    std::uint32_t points = 0;  // decisions until its end
    // From this decision on it goes as the first run that was in its state, a place in runs(); joined: there
    // it ends. UINT32_MAX: it was in no state in which another one had been.
    std::uint32_t same_from = UINT32_MAX, same_as = 0;
    End end = End::kept;
  };

  void add(const Chooser& chooser, bool broke);
  // Of the run that was added last: what of it was gone into (search.h).
  void gone_into(const Chooser& chooser, std::uint32_t point);
  const std::vector<Run>& runs() const { return runs_; }
  Path path(std::size_t run) const;

 private:
  std::vector<Run> runs_;
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> places_;  // of a path's digest
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> states_;  // the first run that was there
};

}  // namespace holdfast::sim
