#include "sim/world/trace.h"

#include <cstring>

namespace holdfast::sim {
namespace {
__extension__ using Wide = unsigned __int128;

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}
}  // namespace

void Trace::add(std::uint64_t word) {
  state_ = fold(state_ ^ word ^ 0x2d358dccaa6c78a5u, (state_ + word) | 0x8bb84b93962eacc9u);
}

void Trace::add(std::string_view bytes) {
  add(static_cast<std::uint64_t>(bytes.size()));
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    add(word);
    bytes.remove_prefix(8);
  }
  if (!bytes.empty()) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size());
    add(word);
  }
}

}  // namespace holdfast::sim
