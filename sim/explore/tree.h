// Tree: what an exploration ran, to be shown: runs, the decisions of each, and where another run departs from
// it or why none does. Plain data; tree_of() makes it, sim/replay/write_tree.h makes a page of it.
//
// Of a large search only a part is here: the decisions of so many runs (they are open), and the runs that
// depart from these. What comes first is what led to the broken promise; the rest is in the order of the
// search, which is that of deviations. What is cut is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/explore/explore.h"
#include "sim/explore/lineage.h"
#include "sim/explore/steered.h"

namespace holdfast::sim {

struct ExploreTree {
  // What became of an alternative.
  enum class Branch : std::uint8_t {
    run,     // it is a run of the tree
    cut,     // it was run, and is not in the tree
    seen,    // it is gone into in the run as which this one goes from there on
    apart,   // it comes to the same: who would go first has nothing to do with who usually does
    beyond,  // too much would go otherwise
    ended,   // the search had ended
  };
  struct Decision {
    Noted what;                    // at_ns: since the first event of the history
    std::vector<Branch> branches;  // of the alternatives, from 1 on
  };
  struct Run {
    std::uint64_t number = 0;  // in the order of the search, from 1
    std::size_t parent = 0;    // in runs; the first run's is its own
    Deviation last = {};       // the decision of its parent at which it departs
    std::uint32_t points = 0;  // decisions
    Lineage::End end = Lineage::End::kept;
    // From that decision on it goes as the run of that number; joined: it ended there.
    std::uint32_t same_from = UINT32_MAX;
    std::uint64_t same_as = 0;
    // Of the runs that come from it, and from these: how many, and how many of them broke a promise.
    std::uint64_t below = 0, broke_below = 0;
    bool open = false;
    std::vector<Decision> decisions = {};  // open: those after its departure
  };
  std::vector<Run> runs;  // parents before their children
  std::uint64_t explored = 0;
  std::size_t opened = 0;
};

struct TreeOptions {
  std::size_t most_open = 1'000;  // each is run once more
  std::size_t most_runs = 20'000;
  std::vector<std::uint64_t> wanted = {};  // numbers of runs that come first, if they were run
};

// REQUIRES: `state` and `lineage` are of an exploration with these options.
// Runs what is open once more, by options.for_each.
ExploreTree tree_of(const ExploreOptions& options, const ExploreState& state, const Lineage& lineage,
                    const TreeOptions& limits = {});

// That run of the exploration as a case that goes this way by itself, to its end.
// REQUIRES: number is 1 to the number of runs
HuntCase explored_run(const ExploreOptions& options, const Lineage& lineage, std::uint64_t number);

}  // namespace holdfast::sim
