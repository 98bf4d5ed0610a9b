// Run: one scenario, one seed, one world -> what happened and what the checks say of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checker/checks/questions.h"
#include "checker/history/history.h"
#include "sim/scenario/scenario.h"
#include "sim/world/decisions.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class RunObserver;

struct RunOptions {
  bool embedded = true;
  std::uint64_t seed = 1;
  std::string folder = {};    // real: an existing folder for the servers' data and logs
  bool keep_history = false;  // RunResult::history
  // What differs from what the seed gives, and where it is written down what was drawn; null: nothing.
  Decisions* decisions = nullptr;
  RunObserver* observer = nullptr;  // embedded: run_observer.h; null: nobody looks
  // real: looked at ten times a second; true ends the run by std::runtime_error. Embedded runs are over soon.
  std::function<bool()> interrupted = {};
};

struct RunResult {
  std::uint64_t seed = 0;
  std::uint64_t trace = 0;     // digest of everything that happened; real world: of the history
  std::int64_t length_ns = 0;  // from the clients' start to the end, on the world's clock
  bool capped = false;         // [run] time cut it
  std::uint64_t grants = 0, waits = 0;
  std::vector<Figure> figures;             // what the workload came to: Workload::figures()
  std::string summed_up;                   // the same as a line for people, "": nothing to say
  checker::Questions questions;            // of the scenario's expectations, in their order
  std::vector<checker::Verdict> verdicts;  // the answers, likewise
  checker::History history;                // empty unless it was asked for
};

// Throws MissingServer (no redis-server on this machine), std::exception (a defect of the harness).
RunResult run_once(const Scenario& scenario, const RunOptions& options);

}  // namespace holdfast::sim
