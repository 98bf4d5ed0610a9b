#include "tools/bench/folders.h"

namespace holdfast::tools {

std::string checkout_path(const std::string& path) { return HOLDFAST_SOURCE_DIR "/" + path; }
std::string build_folder_path(const std::string& path) { return HOLDFAST_BINARY_DIR "/" + path; }

}  // namespace holdfast::tools
