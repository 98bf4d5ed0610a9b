// The seven faults of a flash sale as scenarios, for the suites seckill and failover.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/client/lock_kind.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"

namespace holdfast::tools {

struct SaleFault {
  std::string_view name;          // "primary failover"
  std::string_view lease, think;  // of the workload, so that the fault meets a holder
  std::string_view faults;        // TOML
  bool replicated = false;        // needs a primary and a replica
};
const std::vector<SaleFault>& sale_faults();

struct Sale {
  const sim::LockKind* kind = nullptr;  // null: no lock
  std::string_view write = "blind";     // blind | token | token-at-write | compare-and-set
  int buyers = 8;                       // a process each
  int threads = 1;                      // or so many in each process
  int stock = 10;
  std::string_view think = "";  // instead of the fault's
  bool heeds_loss = false;      // a buyer that is told of its loss neither writes nor sells
};

// Every lock but a quorum's lives on one server (or primary and replica); a quorum's on three, of which one
// is hit. A buyer that is told of its loss neither writes nor sells.
sim::Scenario sale_scenario(const SaleFault& fault, const Sale& sale);
// Whether that lock can meet that fault at all.
bool possible(const SaleFault& fault, const sim::LockKind* kind);

// The fault's stretches of time in a history, in seconds.
struct FaultTime {
  std::string name;
  double from = 0, to = 0;  // to = from: it never healed
};
std::vector<FaultTime> fault_times(const checker::History& history);

}  // namespace holdfast::tools
