// Ground: what a hunt hunts on: one lock, what a file says already, and how much may go wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/scenario/scenario.h"

namespace holdfast::sim {

struct Ground {
  // promised: only what this lock says that it bears, so that each violation is a defect of the lock.
  // anything: also what no lock on one Redis can bear: grants that are lost in a failover, servers that
  // forget, clocks that jump. A violation shows what the design cannot do.
  enum class Bounds { promised, anything };

  const LockKind* lock = nullptr;
  Bounds bounds = Bounds::promised;
  // What the file says; it stays as it is, and the rest is drawn. An empty table: everything is drawn.
  Value given;
  std::string file;  // "" none
  // Strategies, to be compared with each other.
  bool targets = true;  // faults at the moments that matter, not at times alone
  bool swarm = true;    // of the kinds of faults only some in each case
};

// The ground of a kind of lock; of a hardened one it is `promised`, of a published design `anything`.
Ground ground_of(const LockKind& lock);
// The ground of a scenario file, its base. Throws BadScenario.
Ground ground_of_file(const std::string& path);

// The checks that a violation is looked for with: of a hardened lock, what it promises.
std::vector<std::string> promises_of(const LockKind& lock, Ground::Bounds bounds);
// The marks that every hunt of the lock has to reach.
std::vector<std::string> marks_of(const LockKind& lock);
// Whether the lock says that it bears this fault in this cluster.
bool bears(const FaultPlan& fault, const LockKind& lock, const ClusterOptions& cluster);
// And all faults of a scenario together: a survivor bears steps of servers' clocks that add up to the skew
// that it allows for at most.
bool bears_all(const Scenario& scenario);

}  // namespace holdfast::sim
