// The page of an exploration: its tree to walk by hand, and some of its runs with the cursor of a replay in a
// second tab. One self-contained HTML file; nothing is loaded from anywhere.
//
// The page itself lies in page/ (tree.html, branches.css, paths.js, picture.js, walk.js; paths.js describes
// its data). A run is shown by the page of a replay, which is in it once, in a frame.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "sim/explore/tree.h"
#include "sim/replay/replay.h"

namespace holdfast::sim {

struct TreePage {
  std::string title, about, lock;
  std::string reproduce;                                // the line that makes this page again
  std::string bound;                                    // "at most 2 things go otherwise"
  std::vector<std::string> complete_for;                // of what it holds
  std::vector<std::pair<std::uint64_t, Replay>> shown;  // by the number of the run
};

void write_tree_page(const ExploreTree& tree, const ExploreState& state, const TreePage& page,
                     std::ostream& out);

}  // namespace holdfast::sim
