#include "sim/world/rng.h"

#include "lib/runtime/check.h"

namespace holdfast::sim {
namespace {
__extension__ using Wide = unsigned __int128;
}  // namespace

Rng Rng::derive(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a of the name, then mixed with the seed
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  Rng mixer(seed ^ hash);
  const std::uint64_t first = mixer.next();
  return Rng(first ^ (hash << 1));
}

std::uint64_t Rng::next() {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint64_t Rng::between(std::uint64_t low, std::uint64_t high) {
  HF_CHECK(low <= high, "between: empty range");
  const std::uint64_t span = high - low;
  if (span == UINT64_MAX) return next();
  // Lemire's multiply and reject, as Runtime::random_between.
  const std::uint64_t range = span + 1;
  const std::uint64_t threshold = (0 - range) % range;
  for (;;) {
    const Wide product = static_cast<Wide>(next()) * range;
    if (static_cast<std::uint64_t>(product) >= threshold)
      return low + static_cast<std::uint64_t>(product >> 64);
  }
}

bool Rng::chance(std::uint64_t numerator, std::uint64_t denominator) {
  HF_CHECK(denominator > 0, "chance: a denominator of zero");
  return between(0, denominator - 1) < numerator;
}

}  // namespace holdfast::sim
