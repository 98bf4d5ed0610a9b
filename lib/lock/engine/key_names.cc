#include "lib/lock/engine/key_names.h"

#include <array>
#include <cstddef>

namespace holdfast {
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

// What is hashed in place of the key; "": no tag is in force, and all of it is hashed.
std::string_view hash_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return {};
  const std::size_t close = key.find('}', open);
  return close == std::string_view::npos ? std::string_view() : key.substr(open + 1, close - open - 1);
}

// About every 16,384th number fits.
std::string tag_for(std::uint16_t slot) {
  for (std::uint64_t number = 0;; ++number) {
    std::string tag = std::to_string(number);
    if (hash_slot(tag) == slot) return tag;
  }
}

}  // namespace

std::uint16_t hash_slot(std::string_view key) {
  const std::string_view tag = hash_tag(key);
  return crc16(tag.empty() ? key : tag) & 0x3fff;
}

std::string beside_key(std::string_view prefix, std::string_view key) {
  std::string name(prefix);
  if (key.find('}') == std::string_view::npos) return name.append(":{").append(key).append("}");
  if (!hash_tag(key).empty()) return name.append("::").append(key);
  return name.append(":{").append(tag_for(hash_slot(key))).append("}:").append(key);
}

std::string token_key(std::string_view key) { return beside_key("holdfast:token", key); }

}  // namespace holdfast
