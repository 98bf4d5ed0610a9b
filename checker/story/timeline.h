// Timeline: a history as one self-contained HTML page, for one client or a thousand: what happened on top,
// lanes over time, the events in words; search, filters, mouse, touch and keyboard. Nothing is loaded from
// anywhere.
//
// The page itself lies in page/ (markup, style, scripts; embedded at build time); here its data are written
// into it. page/model.js describes them.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "checker/checks/check.h"
#include "checker/history/history.h"

namespace holdfast::checker {

struct NamedVerdict {
  std::string check;  // its name
  Verdict verdict;
};

struct TimelineOptions {
  std::string title = "history";
  bool reentrant = false;                 // as in CheckContext
  std::vector<std::uint64_t> index = {};  // of the events in their file; empty: their positions
  const Witness* opens_at = nullptr;      // one of the verdicts' witnesses (or a copy)
};

// `verdicts`: what the page says of each check, with as many violations as the verdict says, and what it
// shows; of one check the first counts. Witnesses of several checks for one pair of holds are shown as one
// place. The page opens at `opens_at`, else at the first, two owners before all else.
void write_timeline(const History& history, const std::vector<NamedVerdict>& verdicts,
                    const TimelineOptions& options, std::ostream& out);

}  // namespace holdfast::checker
