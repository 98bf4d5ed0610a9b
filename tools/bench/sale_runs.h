// Sales of the benchmark: many runs of many scenarios, and what each of them sold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/run.h"
#include "tools/bench/bench.h"
#include "tools/bench/sale.h"

namespace holdfast::tools {

struct SaleOutcome {
  double sold = 0, oversold = 0, lost = 0;  // units; lost: sold without reducing the stock
  double sold_out_s = 0;                    // from the first acquire to the last sale
  double errors = 0;                        // acquires and releases that failed
  bool capped = false;
};

// One cell of a table: a lock, a protection, a fault.
struct SaleCell {
  std::string fault, protection, subject;
  sim::Scenario scenario;
  int seeds;

  std::vector<std::optional<SaleOutcome>> outcomes = {};  // by seed
  std::string failure = {};                               // of the harness
  std::optional<sim::RunResult> told = {};                // the first that oversold, if that is kept

  std::string name() const;
};

SaleCell make_cell(const SaleStory& story, const sim::Scenario& protection, const SaleSettings& settings,
                   int seeds);

// A cell for every fault and protection: `kinds` for the lock alone, `guarded` for the other protections.
std::vector<SaleCell> cells_of(const std::vector<SaleStory>& stories,
                               const std::vector<const sim::LockKind*>& kinds,
                               const std::vector<const sim::LockKind*>& guarded, SaleSettings settings,
                               int seeds);

// Of the protections only the three that matter most: the lock alone, tokens, no lock.
void keep_main_answers(std::vector<SaleCell>& cells);

// All runs of all cells, `jobs` at a time: on real servers a run mostly waits. Adds what is complete to the
// result, as that suite; of each cell the first sale that oversold is kept below --out. Throws
// BenchInterrupted, after that, and MissingServer.
void play_sales(Bench& bench, const std::string& suite, std::vector<SaleCell>& cells, bool embedded,
                unsigned jobs);

}  // namespace holdfast::tools
