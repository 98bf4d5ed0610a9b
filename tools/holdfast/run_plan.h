// What `holdfast run` was asked to do, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/judge.h"
#include "sim/scenario/scenario.h"
#include "tools/holdfast/exit_code.h"

namespace holdfast::tools {

struct RunArguments {
  std::vector<std::string> files;  // scenario files and folders of them
  bool embedded = true;
  std::optional<sim::SeedSet> seeds;  // instead of the files' own
  std::string variant;                // only this one; "base" is the file without a variant
  unsigned jobs = 1;
  std::string junit, json, out;  // "" none
  bool github = false;
  bool check_determinism = false;
  // How one seed is run; tests put something else here.
  std::function<sim::RunResult(const sim::Scenario&, const sim::RunOptions&)> run = sim::run_once;
};

// One scenario or variant, over its seeds.
struct CaseResult {
  explicit CaseResult(sim::Scenario scenario_, std::vector<std::uint64_t> seeds_)
      : scenario(std::move(scenario_)), seeds(std::move(seeds_)), judge(scenario), traces(seeds.size()) {}
  CaseResult(const CaseResult&) = delete;

  sim::Scenario scenario;
  std::vector<std::uint64_t> seeds;
  sim::Judge judge;                   // REQUIRES: `scenario` stays where it is
  std::vector<std::uint64_t> traces;  // by index of the seed
  std::uint64_t done = 0, violated_runs = 0, grants = 0, waits = 0;
  std::int64_t oversold = 0, worst_oversold = 0;
  double seconds = 0;                     // of real time, summed over the runs
  std::uint64_t story_seed = UINT64_MAX;  // the lowest violated seed
  std::string story, story_check, story_folder;
  std::vector<std::uint64_t> nondeterministic;  // seeds that gave two traces
  std::string error;                            // 70: what broke
  ExitCode code() const;
  // The one line that runs this case again with `seed`.
  std::string reproduce(std::uint64_t seed, bool embedded) const;
};

}  // namespace holdfast::tools
