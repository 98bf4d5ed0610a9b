// Where the benchmark finds its scripts (plots, peers), and where the build has put the peers' packages.
#pragma once

#include <string>

namespace holdfast::tools {

// The absolute path of `path`, which is relative to the checkout.
std::string checkout_path(const std::string& path);
// The absolute path of `path`, which is relative to the build folder.
std::string build_folder_path(const std::string& path);

}  // namespace holdfast::tools
