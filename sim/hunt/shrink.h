// Shrink: from a case that breaks a promise to the smallest one that breaks the same promise in the same way.
//
// Candidates are the case with something left out or something simpler in its place; one is taken if it still
// breaks the promise and is simpler by a measure, so that shrinking ends. In this order:
//
// 1. What is drawn. A case that goes on from a moment with fresh draws does without them on its own seed or
//    on one of a few others; or the few decisions that it needs are looked for (shrink_decisions.h).
// 2. What there is: faults in halves, then one by one (delta debugging: Zeller and Hildebrandt, IEEE TSE
//    28(2), 2002); clients, threads, rounds, nodes; keys.
// 3. When it happens: events and messages in the place of times (shrink_triggers.h), fixed times in the place
//    of drawn ones, for as long as more of the seeds 1 to 20 show it; more rounds, or a message that is held
//    up (shrink_hold_up.h), if then all of them do.
// 4. What is left: rounder and shorter times, smaller numbers, and all of the second step once more; from
//    here on each candidate has to show it on all of these seeds, if the case does.
// 5. A case that some of the seeds do not show keeps the few decisions with which every seed shows it; one
//    that all of them show, but not on a machine that is late (shrink_late.h), gets messages in the place of
//    delays, and longer times.
//
// The same case gives the same result, whatever else runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/hunt/ground.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

struct ShrinkOptions {
  std::uint64_t runs = 6'000;  // about the most that it may cost; a race, twice as much
  unsigned seeds = 6;          // how many others are tried before a candidate is given up
  std::function<bool()> stop = {};
};

inline constexpr unsigned kSeedsThatShow = 20;

struct Shrunk {
  HuntCase one;
  std::uint64_t runs = 0;    // that it cost
  unsigned seeds_of_20 = 0;  // on how many of the seeds 1..20 it shows, without the case's own changes
  // On how many it shows on each late machine, too (kLateMachines); 0 unless all seeds show it.
  unsigned late_of_20 = 0;
};

// What is counted of a case: less is simpler.
struct Size {
  std::size_t faults = 0, clients = 0, tasks = 0, nodes = 0, operations = 0, keys = 0, length = 0;
  std::uint64_t cost() const;
  std::uint64_t parts() const;  // of that: what there is, not how it is said
};
Size size_of(const Value& document);

// REQUIRES: the case breaks `promise` (Failure::promise()).
Shrunk shrink(const Ground& ground, const HuntCase& from, const std::string& promise,
              const ShrinkOptions& options = {});

}  // namespace holdfast::sim
