// Follow: reads a history of JSON lines while its writer still writes it, and judges what is there again and
// again by the checks that no later event can prove wrong.
//
// Judging all of it costs more the longer it is: it is done anew when something came, and takes a fifth of
// the time at most.
#pragma once

#include <string>

#include "tools/holdfast/check_load.h"

namespace holdfast::tools {

// Reads until the first violation, the end of the writer, or Ctrl-C (what a file had by then is still read).
// The writer of a pipe ends with it; one of tools/proxy/recording.h says so, or is gone; any other one is not
// known to end. `file`: "-" is standard input. Throws checker::FormatError.
LoadedHistory follow_history(const std::string& file, const CheckArguments& arguments);

}  // namespace holdfast::tools
