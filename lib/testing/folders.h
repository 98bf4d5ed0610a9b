// Where this checkout and its build are, for tests that read a file of the tree or run a program of the
// build.
#pragma once

#include <string>

namespace holdfast::testing {

// The absolute path of `path`, which is relative to the checkout.
std::string source_path(const std::string& path);
// The absolute path of `path`, which is relative to the build folder.
std::string build_path(const std::string& path);

}  // namespace holdfast::testing
