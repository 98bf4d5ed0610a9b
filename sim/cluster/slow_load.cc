#include "sim/cluster/slow_load.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace holdfast::sim {
namespace {

namespace fs = std::filesystem;

constexpr int kKeys = 6000, kValueBytes = 1024;
// Of the RDB format: "REDIS" and a version of four digits; at the end an opcode and eight bytes of a checksum
// (all zero: there is none). https://rdb.fnordig.de/file_format.html
constexpr std::size_t kHeaderBytes = 9, kTrailerBytes = 9;
constexpr char kSelectDatabase = '\xfe', kExpiresAtMs = '\xfc', kEndOfFile = '\xff', kString = '\0';

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

// REQUIRES: size < 16384.
std::string length(std::size_t size) {
  if (size < 64) return std::string(1, static_cast<char>(size));
  return {static_cast<char>(0x40 | (size >> 8)), static_cast<char>(size & 0xff)};
}

std::string with_filler(const std::string& dump) {
  if (dump.size() < kHeaderBytes + kTrailerBytes || !dump.starts_with("REDIS") ||
      dump[dump.size() - kTrailerBytes] != kEndOfFile) {
    throw std::runtime_error("a dump that does not end as those of Redis 5 and later");
  }
  std::string bytes = dump.substr(0, dump.size() - kTrailerBytes);
  bytes += kSelectDatabase;
  bytes += length(15);
  const std::string long_ago = {1, 0, 0, 0, 0, 0, 0, 0};  // ms since 1970, the lowest byte first
  const std::string value(kValueBytes, 'x');
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = "filler:" + std::to_string(i);
    bytes += kExpiresAtMs + long_ago + kString + length(key.size()) + key + length(value.size()) + value;
  }
  return bytes + kEndOfFile + std::string(kTrailerBytes - 1, '\0');
}

const std::string kEmptyDump = "REDIS0009" + (kEndOfFile + std::string(kTrailerBytes - 1, '\0'));

// The base of the append-only file; makes an empty one where there is none.
std::string append_only_base(const fs::path& folder) {
  fs::create_directories(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(".base.rdb")) return entry.path().string();
  }
  write(folder / "appendonly.aof.1.base.rdb", kEmptyDump);
  write(folder / "appendonly.aof.manifest", "file appendonly.aof.1.base.rdb seq 1 type b\n");
  return (folder / "appendonly.aof.1.base.rdb").string();
}

}  // namespace

SlowLoad::SlowLoad(const std::string& folder, bool append_only)
    : file_(append_only ? append_only_base(folder + "/appendonlydir") : folder + "/dump.rdb") {
  const std::string slow = with_filler(fs::exists(file_) ? contents(file_) : kEmptyDump);
  if (fs::exists(file_)) {
    before_ = file_ + ".before";
    fs::rename(file_, before_);
  }
  write(file_, slow);
}

SlowLoad::~SlowLoad() {
  std::error_code gone;
  if (before_.empty()) {
    fs::remove(file_, gone);
  } else {
    fs::rename(before_, file_, gone);
  }
}

std::vector<std::string> SlowLoad::settings() {
  return {"--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024"};
}

std::vector<std::string> SlowLoad::let_it_go_on() { return {"CONFIG", "SET", "key-load-delay", "0"}; }

}  // namespace holdfast::sim
