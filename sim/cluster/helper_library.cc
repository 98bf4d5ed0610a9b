#include "sim/cluster/helper_library.h"

#include <filesystem>

namespace holdfast::sim {

std::string helper_library(const std::string& file) {
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto installed = (folder / HOLDFAST_LIBRARIES_FROM_BIN / file).lexically_normal();
  return (std::filesystem::exists(folder / file) || !std::filesystem::exists(installed) ? folder / file
                                                                                        : installed)
      .string();
}

}  // namespace holdfast::sim
