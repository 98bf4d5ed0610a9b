#include "lib/lock/engine/key_names.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast {
namespace {

constexpr std::size_t kSlots = 16384;

// The least number with that slot. About every 16,384th has it, so that it takes a millisecond to find one.
std::string tag_for(std::uint16_t slot) {
  static std::array<std::atomic<std::uint32_t>, kSlots> found{};  // plus 1; 0: nobody has looked yet
  std::uint32_t known = found[slot].load(std::memory_order_relaxed);
  if (known == 0) {
    do ++known;
    while (hash_slot(std::to_string(known - 1)) != slot);
    found[slot].store(known, std::memory_order_relaxed);
  }
  return std::to_string(known - 1);
}

}  // namespace

std::string beside_key(std::string_view prefix, std::string_view key) {
  std::string name(prefix);
  if (key.find('}') == std::string_view::npos) return name.append(":{").append(key).append("}");
  if (!redis::hash_tag(key).empty()) return name.append("::").append(key);
  return name.append(":{").append(tag_for(hash_slot(key))).append("}:").append(key);
}

std::string token_key(std::string_view key) { return beside_key("holdfast:token", key); }

}  // namespace holdfast
