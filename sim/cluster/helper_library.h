// Where the libraries are that the harness preloads into other programs.
#pragma once

#include <string>

namespace holdfast::sim {

// The path of `file`: beside the program that runs, as in a build folder; else where the installation of that
// program has its libraries (in a prefix that may have been moved).
std::string helper_library(const std::string& file);

}  // namespace holdfast::sim
