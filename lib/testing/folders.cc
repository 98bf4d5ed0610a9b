#include "lib/testing/folders.h"

namespace holdfast::testing {

std::string source_path(const std::string& path) { return HOLDFAST_SOURCE_DIR "/" + path; }
std::string build_path(const std::string& path) { return HOLDFAST_BINARY_DIR "/" + path; }

}  // namespace holdfast::testing
