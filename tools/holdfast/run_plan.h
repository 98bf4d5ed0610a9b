// What `holdfast run` was asked to do, what of it can be done here, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/client/workload_kind.h"
#include "sim/scenario/judge.h"
#include "sim/scenario/scenario.h"
#include "sim/world/decisions.h"
#include "tools/holdfast/exit_code.h"
#include "tools/holdfast/fault_kinds.h"
#include "tools/holdfast/shard.h"
#include "tools/holdfast/terminal.h"

namespace holdfast::tools {

// Which runs leave a folder below --out.
enum class Keep {
  failed,    // what was not as expected: of each failed expectation the seed that shows it
  violated,  // and of each other case the first violation that was expected
  all,       // every run
};

struct RunArguments {
  std::string command = "holdfast";  // argv[0], for lines that reproduce
  std::vector<std::string> files;    // scenario files and folders of them
  bool embedded = true;
  std::optional<sim::SeedSet> seeds;  // instead of the files' own
  std::string variant;                // only this one; "base" is the file without a variant
  std::string decisions_file;         // "" none
  sim::Changes decisions = {};        // what it says
  unsigned jobs = 1;
  std::string junit, json, out;  // "" none
  Keep keep = Keep::failed;
  bool github = false;
  bool check_determinism = false;
  Shard shard;  // of all runs, in the order of file, variant, seed
  Terminal terminal = {};
  // How one seed is run; tests put something else here.
  std::function<sim::RunResult(const sim::Scenario&, const sim::RunOptions&)> run = sim::run_once;
};

// A run that is worth a look: which seed, and which of the scenario's expectations it is about.
struct Telling {
  std::uint64_t seed = 0;
  std::size_t expectation = 0;
  bool expected = false;  // a violation that the file expects
};

struct KeptFolder {
  std::uint64_t seed = 0;
  std::string path;
};

// One scenario or variant, over its seeds.
struct CaseResult {
  CaseResult(sim::Scenario scenario_, std::vector<std::uint64_t> seeds_)
      : scenario(std::move(scenario_)), seeds(std::move(seeds_)), judge(scenario), traces(seeds.size()) {
    cost = sim::find_workload_kind(scenario.workload.kind)->cost;
    if (scenario.lock != nullptr) lock = scenario.lock->name;
    faults = fault_kinds(scenario);
  }
  CaseResult(const CaseResult&) = delete;

  sim::Scenario scenario;
  std::vector<std::uint64_t> seeds;
  std::string lock;                   // its kind
  std::vector<std::string> faults;    // kinds of those that may act
  bool named = false;                 // its file was named; else a folder that it is in
  bool alone = false;                 // the only case of its file
  std::string folder;                 // its own below --out, "name-variant"
  sim::Judge judge;                   // REQUIRES: `scenario` stays where it is
  std::vector<std::uint64_t> traces;  // by index of the seed
  std::uint64_t done = 0, violated_runs = 0, grants = 0, waits = 0;
  std::string_view cost;  // what this workload counts when its lock fails ("oversold"); "": nothing
  std::int64_t total_cost = 0, worst_cost = 0;
  double seconds = 0;                           // of real time, summed over the runs
  std::vector<std::uint64_t> nondeterministic;  // seeds that gave two traces
  bool bad_program = false;                     // `error` is a program's of the scenario, not ours: 1
  std::string error;                            // 70: what broke
  std::string missing;                          // 69: why it was not run
  std::vector<KeptFolder> kept;

  // Of a shard: its own runs are here, the rest is elsewhere.
  Shard shard;
  std::uint64_t first_run = 0;  // the number of the first of its runs among all
  bool mine(std::size_t index) const { return shard.has(first_run + index); }
  std::uint64_t planned() const;  // how many are its own

  bool whole() const { return done == seeds.size(); }
  ExitCode code() const;
  // Interrupted, or one of several shards, while everything could still be as expected.
  bool cut() const;
  // Ran and was not as expected, or nothing can be said.
  bool unexpected() const { return missing.empty() && !cut() && code() != kMet; }
  // Not as expected: the seed that shows the first expectation that failed. Else the first violation that was
  // expected. nullopt: neither.
  std::optional<Telling> telling() const;
  // One for each expectation that failed, a seed once.
  std::vector<Telling> failures() const;
  // The one line that runs this case again with `seed`.
  std::string reproduce(std::uint64_t seed, const RunArguments& arguments) const;
};

using Cases = std::vector<std::unique_ptr<CaseResult>>;

// What lies in a folder and cannot be run here.
struct NotRun {
  std::string file, variant;  // "" all of the file
  std::string reason;
};

struct Plan {
  Cases cases;
  std::vector<NotRun> not_run;
  bool many = false;  // more than one file
};

// Reads and validates every file, before any run: the *.toml of folders and of all folders below, in the
// order of their paths, a file once. Throws sim::BadScenario and BadUsage for what is wrong with them,
// Missing when a file that was named, or all that was found, needs what this machine lacks.
Plan make_plan(const RunArguments& arguments);

}  // namespace holdfast::tools
