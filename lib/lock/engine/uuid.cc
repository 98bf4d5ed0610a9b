#include "lib/lock/engine/uuid.h"

#include <cstdint>

namespace holdfast {

namespace {

std::string drawn(Runtime& runtime, std::uint64_t version) {
  static constexpr char kHex[] = "0123456789abcdef";
  runtime.renew_randomness();
  std::uint64_t words[2];
  for (auto& word : words) word = runtime.random();
  words[0] = (words[0] & ~0xf000ull) | version << 12;
  words[1] = (words[1] & ~(0x3ull << 62)) | (0x2ull << 62);  // variant 10
  std::string text;
  text.reserve(36);
  for (int nibble = 0; nibble < 32; ++nibble) {
    if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) text += '-';
    text += kHex[(words[nibble / 16] >> (60 - 4 * (nibble % 16))) & 0xf];
  }
  return text;
}

}  // namespace

std::string random_uuid(Runtime& runtime) { return drawn(runtime, 4); }

std::string telling_uuid(Runtime& runtime) { return drawn(runtime, 8); }

}  // namespace holdfast
