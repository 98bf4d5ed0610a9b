#include "sim/world/trace.h"

#include <bit>
#include <cstring>

namespace holdfast::sim {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

static_assert(std::endian::native == std::endian::little, "traces are compared between builds");

}  // namespace

// The state is rotated in beside the product, so that a factor of zero cannot wipe out the past.
void Trace::add(std::uint64_t word) {
  state_ = fold(state_ ^ word, 0xa0761d6478bd642fu) + std::rotl(state_, 23);
}

void Trace::add(std::string_view bytes) {
  std::uint64_t hash = fold(bytes.size() ^ 0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u);
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  while (left >= 16) {
    std::uint64_t a, b;
    std::memcpy(&a, at, 8);
    std::memcpy(&b, at + 8, 8);
    hash = fold(a ^ 0x589965cc75374cc3u, b ^ hash) + std::rotl(hash, 29);
    at += 16;
    left -= 16;
  }
  std::uint64_t tail[2] = {0, 0};
  if (left > 0) std::memcpy(tail, at, left);
  hash = fold(tail[0] ^ 0x1d8e4e27c47d124fu, tail[1] ^ hash) + std::rotl(hash, 29);
  add(hash);
}

}  // namespace holdfast::sim
