// Runner: every seed of every case on a few threads; and a run again, to tell of it.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tools/holdfast/kept_run.h"
#include "tools/holdfast/progress.h"
#include "tools/holdfast/run_plan.h"

namespace holdfast::tools {

// Results are gathered by (case, index of the seed), so that what is told depends on neither --jobs nor
// timing.
class Runner {
 public:
  // `servers`: where real servers have their data, "" in the embedded world. `interrupted`: true ends it
  // soon. All of them outlive the runner.
  Runner(const Cases& cases, const RunArguments& arguments, const std::string& servers,
         const std::atomic<bool>& interrupted, Progress& progress);

  // Called with each case, in their order, as soon as nothing more of it and of those before it will be run:
  // what is known is told before anything can go wrong. Not called twice at once.
  std::function<void(const CaseResult&)> on_settled = [](const CaseResult&) {};

  // Until all is done, it was interrupted, or memory is short. Throws Missing for a file that was named.
  void run();

  // Writes what --keep asks for and is not there yet. Throws OutputError when one of all the files that it,
  // or run() for --keep all, had to write could not be written; the others are there.
  void keep();

  // A run as it is kept and told, with its history. In the embedded world it is lived again when its history
  // was not kept; that it is the same one is verified (CaseResult::nondeterministic).
  // REQUIRES: the seed was run, and is one of failures() or telling().
  std::pair<KeptRun, checker::History> recall(CaseResult& result, const Telling& telling);

 private:
  void work();
  void settle(std::size_t index);
  void settle_all();
  void keep_told();
  void run_job(CaseResult& result, std::size_t index);
  void gather(CaseResult& result, std::size_t index, sim::RunResult run, bool same, double seconds);
  sim::RunResult run_seed(const CaseResult& result, std::uint64_t seed, bool keep_history);
  std::string folder_of_servers(const CaseResult& result, std::uint64_t seed) const;
  void keep_run(CaseResult& result, const KeptRun& run, const checker::History& history);

  const Cases& cases_;
  const RunArguments& arguments_;
  const std::string& servers_;
  const std::atomic<bool>& interrupted_;
  Progress& progress_;
  std::vector<std::pair<std::size_t, std::size_t>> jobs_;
  std::vector<std::size_t> left_;  // by case: how many of its seeds are not settled
  std::size_t settled_ = 0;        // cases that on_settled knows
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::uint64_t done_ = 0;
  std::uint64_t unexpected_ = 0;            // cases that can no longer be as expected
  std::map<const CaseResult*, bool> lost_;  // they; looked up only
  std::exception_ptr failure_;
  std::string not_kept_;  // what the first file said that could not be written, "" all were
  // Of the real world, which cannot be lived again: the runs that may be told. Looked up only.
  std::map<const CaseResult*, std::map<std::uint64_t, sim::RunResult>> remembered_;
};

}  // namespace holdfast::tools
