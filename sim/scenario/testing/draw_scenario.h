// draw_scenario: whole scenario files at random, for properties. What is drawn is text, so that a failure can
// be kept as a file and run by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/world/rng.h"

namespace holdfast::sim::testing {

struct DrawOptions {
  // Servers may forget what they acknowledged, or expire it early: failovers, lost disks, clocks that step
  // or drift. Else only what a sound lock has to bear: pauses, crashes of either side, a lost power supply of
  // servers that sync before they answer, partitions, lost messages.
  bool servers_forget = false;
  bool watchdog_pauses = false;  // a holder is told late then, and that is no fault of the lock
};

// A file with a lock of that kind, two to seven faults that overlap on the same few clients and nodes, and
// no expectations.
std::string draw_scenario(const LockKind& kind, Rng& rng, const DrawOptions& options);

// "[[expect]]" tables for those checks.
std::string expecting(const std::vector<std::string>& checks);

}  // namespace holdfast::sim::testing
