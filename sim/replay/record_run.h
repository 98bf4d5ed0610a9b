// Records a run: runs it once more, and keeps what was to be seen on the way. The run is the one that it is
// without being looked at: the same history, the same trace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/replay/replay.h"
#include "sim/scenario/run.h"
#include "sim/scenario/scenario.h"
#include "sim/world/decisions.h"

namespace holdfast::sim {

struct ReplayOptions {
  std::uint64_t seed = 1;
  Changes changes = {};              // what differs from what the seed gives
  std::size_t most_steps = 300'000;  // of a page that a browser still opens at once
  std::size_t most_keys = 100;       // of one server
  std::size_t most_elements = 24;    // of one key
};

struct Recorded {
  Replay replay;
  RunResult run;  // with its history
};

// REQUIRES: the embedded world can run it (require_world()). Throws what run_once() throws.
Recorded record_run(const Scenario& scenario, const ReplayOptions& options);

}  // namespace holdfast::sim
