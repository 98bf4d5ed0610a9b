// Shrink: from a case that breaks a promise to the smallest one that breaks the same promise in the same way.
//
// Candidates are the case with something left out or something simpler in its place; one is taken if it still
// breaks the promise, on the case's own seed or on one of a few others, and if it is simpler by a measure, so
// that shrinking ends. Faults are left out first, in halves, then one by one (delta debugging: Zeller and
// Hildebrandt, IEEE TSE 28(2), 2002); then clients, nodes, rounds, keys; then times become rounder and
// shorter. In the end what is left to chance is pinned, so that it shows on every seed where that can be had.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/hunt/ground.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

struct ShrinkOptions {
  std::uint64_t runs = 6'000;  // the most that it may cost
  unsigned seeds = 6;          // how many others are tried before a candidate is given up
  std::function<bool()> stop = {};
};

struct Shrunk {
  HuntCase one;
  std::uint64_t runs = 0;    // that it cost
  unsigned seeds_of_20 = 0;  // on how many of the seeds 1..20 it shows, without the case's own changes
};

// What is counted of a case: less is simpler.
struct Size {
  std::size_t faults = 0, clients = 0, tasks = 0, nodes = 0, operations = 0, keys = 0, length = 0;
  std::uint64_t cost() const;
};
Size size_of(const Value& document);

// REQUIRES: the case breaks `promise` (Failure::promise()).
Shrunk shrink(const Ground& ground, const HuntCase& from, const std::string& promise,
              const ShrinkOptions& options = {});

}  // namespace holdfast::sim
