// Reads one history for `holdfast check`, and shows on a terminal how far it is.
#pragma once

#include <string>

#include "checker/history/formats.h"
#include "checker/history/packed_history.h"
#include "tools/holdfast/check_judge.h"

namespace holdfast::tools {

struct LoadedHistory {
  checker::PackedHistory packed;  // the events
  checker::ReadHistory read;      // strings, indices and what was skipped
  checker::Format format = checker::Format::jsonl;
  std::string followed_until;  // why following it ended (follow.h); "": it was not followed
  bool interrupted = false;    // by Ctrl-C
};

// `file`: "-" is standard input. Throws checker::FormatError.
LoadedHistory load_history(const std::string& file, const CheckArguments& arguments);

}  // namespace holdfast::tools
