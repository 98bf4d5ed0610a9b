#include "tools/bench/folders.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

// The data of an installed command, below the prefix of the program that runs; empty in a build folder, and
// where there is no /proc.
fs::path installed_data() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path data = program.parent_path() / HOLDFAST_DATA_FROM_BIN;
  return !error && fs::exists(data / "tools/bench", error) ? data.lexically_normal() : fs::path();
}

fs::path cache() {
  if (const char* folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder == '/') return folder;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "/tmp") / ".cache";
}

}  // namespace

std::string checkout_path(const std::string& path) {
  const fs::path data = installed_data();
  return data.empty() ? HOLDFAST_SOURCE_DIR "/" + path : (data / path).string();
}

std::string build_folder_path(const std::string& path) {
  return installed_data().empty() ? HOLDFAST_BINARY_DIR "/" + path : (cache() / "holdfast" / path).string();
}

}  // namespace holdfast::tools
