#include "lib/lock/engine/key_names.h"

#include <cstdint>

namespace holdfast {
namespace {

// About every 16,384th number fits.
std::string tag_for(std::uint16_t slot) {
  for (std::uint64_t number = 0;; ++number) {
    std::string tag = std::to_string(number);
    if (hash_slot(tag) == slot) return tag;
  }
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
