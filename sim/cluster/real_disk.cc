#include "sim/cluster/real_disk.h"

#include <filesystem>
#include <functional>
#include <system_error>

namespace holdfast::sim {
namespace {

namespace fs = std::filesystem;

void each_growing_file(const std::string& folder, const std::function<void(const fs::path&)>& what) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().filename().string().ends_with(".incr.aof")) what(entry.path());
  }
}

}  // namespace

void RealDisk::saw(MonotonicTime now) {
  each_growing_file(folder_, [&](const fs::path& file) {
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(file, gone);
    if (!gone) files_[file.filename().string()].saw(now, size);
  });
}

void RealDisk::lose_power(MonotonicTime now, const ClockControl& synced) {
  std::map<std::string, WriteBack> left;
  each_growing_file(folder_, [&](const fs::path& file) {
    const std::string name = file.filename().string();
    WriteBack& written = files_[name];
    written.synced(static_cast<std::size_t>(synced.synced_bytes(name)));
    const std::size_t length = written.length(now, fs::file_size(file));
    fs::resize_file(file, length);
    left.emplace(name, WriteBack(length));
  });
  files_ = std::move(left);
}

}  // namespace holdfast::sim
