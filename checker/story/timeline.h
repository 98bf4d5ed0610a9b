// Timeline: a history as one self-contained HTML file: lanes for clients and nodes, holds and leases as bars,
// faults as bands, what conflicts in red. Draws only what is in view, so that a hundred thousand operations
// open at once.
//
// The page itself is timeline.html beside this file (embedded at build time); here its data are written into
// it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "checker/checks/check.h"
#include "checker/history/history.h"

namespace holdfast::checker {

struct TimelineOptions {
  std::string title = "history";
  bool reentrant = false;                 // as in CheckContext
  std::vector<std::uint64_t> index = {};  // of the events in their file; empty: their positions
};

// `witnesses`: what is marked; the first one is what the page jumps to.
void write_timeline(const History& history, const std::vector<Witness>& witnesses,
                    const TimelineOptions& options, std::ostream& out);

}  // namespace holdfast::checker
