// Dice: how a hunt draws what a scenario leaves open.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/time.h"
#include "sim/world/rng.h"

namespace holdfast::sim {

class Dice {
 public:
  explicit Dice(const Rng& rng) : rng_(rng) {}
  // Dice of their own for a part of what is drawn: the others' draws stay where they are.
  Dice child(std::string_view name) const { return Dice(rng_.child(name)); }

  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return rng_.between(low, high); }
  std::uint64_t word() { return rng_.next(); }
  bool one_in(std::uint64_t times) { return rng_.chance(1, times); }
  bool percent(std::uint64_t part) { return rng_.chance(part, 100); }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(between(0, from.size() - 1))];
  }
  std::string pick(std::initializer_list<const char*> from) {
    return *(from.begin() + static_cast<std::ptrdiff_t>(between(0, from.size() - 1)));
  }

  // As likely between 1 and 2 ms as between 1 and 2 s; of two digits, as people write them. REQUIRES: 0 < low
  Duration log_uniform(Duration low, Duration high);
  // Log-uniform up to three leases, or at a moment that means something: just before and after a third, two
  // thirds, one and two leases.
  Duration about_lease(Duration lease);
  std::string range(Duration low, Duration high);  // "3ms..40ms", or one duration; log-uniform ends

 private:
  Rng rng_;
};

}  // namespace holdfast::sim
