#include "lib/redis/hash_slot.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>

namespace holdfast::redis {
namespace {

// CRC-16/XMODEM: polynomial 0x1021, begins with 0.
constexpr std::array<std::uint16_t, 256> crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1) ^ 0x1021U : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

std::uint16_t crc16(std::string_view text) {
  static constexpr std::array kTable = crc_table();
  unsigned crc = 0;
  for (const char c : text) {
    crc = ((crc << 8) ^ kTable[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xff]) & 0xffff;
  }
  return static_cast<std::uint16_t>(crc);
}

// The argument of that number, the name being 0.
std::string_view argument(const CommandView& command, std::size_t number) {
  for (const Arguments& part : command.parts) {
    if (number < part.size()) return part[number];
    number -= part.size();
  }
  return {};
}

struct Places {
  std::size_t first = 1, count = 1, step = 1;
};

constexpr std::array<std::string_view, 33> kWithoutKeys = {
    "ACL",   "ASKING",  "AUTH",   "BGSAVE", "CLIENT",    "CLUSTER",  "COMMAND",   "CONFIG",    "DBSIZE",
    "DEBUG", "DISCARD", "ECHO",   "EXEC",   "FAILOVER",  "FLUSHALL", "FLUSHDB",   "HELLO",     "INFO",
    "KEYS",  "LATENCY", "MULTI",  "PING",   "RANDOMKEY", "READONLY", "READWRITE", "REPLICAOF", "ROLE",
    "SCAN",  "SCRIPT",  "SELECT", "TIME",   "UNWATCH",   "WAIT"};
constexpr std::array<std::string_view, 12> kManyKeys = {"DEL",     "EXISTS", "MGET",   "PFCOUNT",
                                                        "PFMERGE", "SDIFF",  "SINTER", "SUNION",
                                                        "TOUCH",   "UNLINK", "WATCH",  "SSUBSCRIBE"};
constexpr std::array<std::string_view, 6> kCounted = {"EVAL",    "EVALSHA", "EVALSHA_RO",
                                                      "EVAL_RO", "FCALL",   "FCALL_RO"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Places places_of(const CommandView& command) {
  std::string name(command.name());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::size_t size = command.size();
  if (has(kCounted, name)) {
    const std::string_view text = argument(command, 2);
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool fits =
        error == std::errc() && end == text.data() + text.size() && size >= 3 && count <= size - 3;
    return {.first = 3, .count = fits ? count : 0};
  }
  if (size < 2 || has(kWithoutKeys, name)) return {.count = 0};
  if (has(kManyKeys, name)) return {.count = size - 1};
  if (name == "MSET" || name == "MSETNX") return {.count = size / 2, .step = 2};
  if (name == "RENAME" || name == "RENAMENX" || name == "RPOPLPUSH" || name == "LMOVE" || name == "SMOVE")
    return {.count = std::min<std::size_t>(2, size - 1)};
  return {};
}

}  // namespace

std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return {};
  const std::size_t close = key.find('}', open);
  return close == std::string_view::npos ? std::string_view() : key.substr(open + 1, close - open - 1);
}

std::uint16_t hash_slot(std::string_view key) {
  const std::string_view tag = hash_tag(key);
  return crc16(tag.empty() ? key : tag) & 0x3fff;
}

CommandSlot slot_of(const CommandView& command) {
  const Places places = places_of(command);
  CommandSlot found;
  for (std::size_t i = 0; i < places.count; ++i) {
    const std::uint16_t slot = hash_slot(argument(command, places.first + i * places.step));
    if (found.slot && *found.slot != slot) found.several = true;
    if (!found.slot) found.slot = slot;
  }
  return found;
}

}  // namespace holdfast::redis
