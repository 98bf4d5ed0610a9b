#include "tools/holdfast/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

[[noreturn]] void refuse(const std::string& flag, const std::string& path, const std::string& why) {
  throw OutputError(
      fmt::format("{} {}: cannot be written ({}); nothing was run, give another place", flag, path, why));
}

}  // namespace

void write_file(const std::string& path, const std::string& text) {
  const fs::path target(path);
  std::error_code error;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error) throw OutputError(fmt::format("{}: cannot be written ({})", path, error.message()));
  errno = 0;
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw OutputError(fmt::format("{}: cannot be written ({})", path, reason()));
}

void require_writable_folder(const std::string& flag, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(flag, folder, error.message());
  if (!fs::is_directory(folder, error)) refuse(flag, folder, "it is no folder");
  std::string probe = (fs::path(folder) / ".holdfast-XXXXXX").string();
  const int fd = mkstemp(probe.data());
  if (fd < 0) refuse(flag, folder, reason());
  const bool written = write(fd, "x", 1) == 1;
  const std::string why = written ? "" : reason();
  close(fd);
  unlink(probe.c_str());
  if (!written) refuse(flag, folder, why);
}

void require_writable_file(const std::string& flag, const std::string& file) {
  const fs::path target(file);
  std::error_code error;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error) refuse(flag, file, error.message());
  const bool there = fs::exists(target, error);
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) refuse(flag, file, reason());
  close(fd);
  if (!there) fs::remove(target, error);
}

void finish_standard_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
    throw OutputError(fmt::format("standard output: cannot be written ({})",
                                  errno == 0 ? "some of it was lost" : reason()));
}

}  // namespace holdfast::tools
