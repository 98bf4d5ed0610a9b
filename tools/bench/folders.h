// Where the benchmark finds its scripts (plots, peers), and where it puts the peers' packages.
#pragma once

#include <string>

namespace holdfast::tools {

// The absolute path of `path`, which is relative to the checkout: in it, or where an installed command has
// its data.
std::string checkout_path(const std::string& path);
// The absolute path of `path`, which is relative to the build folder; of an installed command to
// $XDG_CACHE_HOME/holdfast (~/.cache/holdfast).
std::string build_folder_path(const std::string& path);

}  // namespace holdfast::tools
