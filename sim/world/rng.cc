#include "sim/world/rng.h"

#include "lib/runtime/check.h"
#include "sim/world/decisions.h"

namespace holdfast::sim {
namespace {
__extension__ using Wide = unsigned __int128;
}  // namespace

Rng Rng::derive(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a of the name, then mixed with the seed
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  Rng mixer(seed ^ hash);
  const std::uint64_t first = mixer.raw();
  return Rng(first ^ (hash << 1));
}

Rng Rng::child(std::string_view name) const {
  Rng made = derive(origin_, name);
  if (stream_ != nullptr) made.stream_ = &stream_->child(name);
  return made;
}

Rng Rng::unnamed() const {
  Rng same = *this;
  same.stream_ = nullptr;
  return same;
}

std::uint64_t Rng::raw() {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint64_t Rng::uniform(std::uint64_t low, std::uint64_t high) {
  HF_CHECK(low <= high, "between: empty range");
  const std::uint64_t span = high - low;
  if (span == UINT64_MAX) return raw();
  // Lemire's multiply and reject, as Runtime::random_between.
  const std::uint64_t range = span + 1;
  const std::uint64_t threshold = (0 - range) % range;
  for (;;) {
    const Wide product = static_cast<Wide>(raw()) * range;
    if (static_cast<std::uint64_t>(product) >= threshold)
      return low + static_cast<std::uint64_t>(product >> 64);
  }
}

std::uint64_t Rng::next() {
  if (stream_ == nullptr) return raw();
  stream_->renew(*this);
  return stream_->settle({.kind = Drawn::Kind::word, .low = 0, .high = UINT64_MAX, .value = raw()},
                         number_++);
}

std::uint64_t Rng::between(std::uint64_t low, std::uint64_t high) {
  if (stream_ == nullptr) return uniform(low, high);
  stream_->renew(*this);
  const std::uint64_t value = uniform(low, high);
  return stream_->settle({.kind = Drawn::Kind::number, .low = low, .high = high, .value = value}, number_++);
}

bool Rng::chance(std::uint64_t numerator, std::uint64_t denominator) {
  HF_CHECK(denominator > 0, "chance: a denominator of zero");
  if (stream_ == nullptr) return uniform(0, denominator - 1) < numerator;
  stream_->renew(*this);
  const bool happens = uniform(0, denominator - 1) < numerator;
  return stream_->settle({.kind = Drawn::Kind::chance,
                          .low = numerator >= denominator ? 1u : 0u,
                          .high = numerator > 0 ? 1u : 0u,
                          .value = happens ? 1u : 0u},
                         number_++) != 0;
}

}  // namespace holdfast::sim
