// `holdfast bench` and `holdfast plot` as their users meet them.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/holdfast/testing/run_tool.h"

namespace holdfast::tools {

// The command, with both outputs in `out`.
inline Ran run_bench(const std::string& arguments, const std::string& before = "") {
  return holdfast(arguments + " 2>&1", before);
}

inline nlohmann::json read_result_file(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

// How many processes run in a folder below `path`.
inline int processes_below(const std::string& path) {
  int found = 0;
  std::error_code gone;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const auto where = std::filesystem::read_symlink(process.path() / "cwd", gone);
    if (!gone && where.string().starts_with(path)) ++found;
  }
  return found;
}

}  // namespace holdfast::tools
