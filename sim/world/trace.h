// Trace: a running hash over everything that happens in a world, the proof of determinism.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::sim {

// Folds 64-bit words with a 128-bit multiply (about 1 ns a word). Order matters.
class Trace {
 public:
  Trace() = default;
  explicit Trace(std::uint64_t digest) : state_(digest) {}  // goes on from there
  void add(std::uint64_t word);
  void add(std::string_view bytes);
  std::uint64_t digest() const { return state_; }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15u;
};

}  // namespace holdfast::sim
