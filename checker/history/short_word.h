// A text of at most seven bytes as one number, so that names are told apart by one comparison or a switch.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace holdfast::checker {

// The bytes and, in the highest one, the length: two texts have one word exactly when they are equal. A text
// of more than seven bytes has kLongWord.
inline constexpr std::uint64_t kLongWord = ~std::uint64_t{0};
constexpr std::uint64_t short_word(std::string_view text) {
  const std::size_t size = text.size();
  if (size > 7) return kLongWord;
  std::uint64_t word = std::uint64_t{size} << 56;
  if (!std::is_constant_evaluated() && std::endian::native == std::endian::little && size >= 4) {
    std::uint32_t first = 0, last = 0;  // they overlap in bytes that are the same in both
    std::memcpy(&first, text.data(), 4);
    std::memcpy(&last, text.data() + size - 4, 4);
    return word | first | std::uint64_t{last} << (8 * (size - 4));
  }
  for (std::size_t i = 0; i < size; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  }
  return word;
}

}  // namespace holdfast::checker
