#include "tools/holdfast/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "lib/testing/server/missing.h"
#include "sim/external/bad_program.h"
#include "tools/holdfast/fault_kinds.h"
#include "tools/holdfast/memory.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

bool shows_violation(const CaseResult& result, const sim::RunResult& run) {
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    if (run.verdicts[i].outcome == checker::Outcome::violated &&
        result.scenario.expectations[i].check != "reached")
      return true;
  }
  return false;
}

KeptRun describe_run(const CaseResult& result, const sim::RunResult& run, const RunArguments& arguments,
                     const std::optional<Telling>& telling) {
  const sim::Scenario& scenario = result.scenario;
  KeptRun kept;
  kept.file = scenario.file;
  kept.scenario = scenario.name;
  kept.variant = scenario.variant;
  kept.about = scenario.about;
  kept.lock = scenario.lock->name;
  kept.faults = fault_kinds(scenario);
  kept.world = arguments.embedded ? "embedded" : "real";
  kept.reproduce = result.reproduce(run.seed, arguments);
  kept.seed = run.seed;
  kept.decisions = arguments.decisions_file;
  kept.trace = fmt::format("{:016x}", run.trace);
  kept.reentrant = scenario.lock->reentrant;
  kept.shop = run.summed_up;
  kept.questions = run.questions;
  for (std::size_t i = 0; i < run.verdicts.size(); ++i) {
    const checker::Verdict& verdict = run.verdicts[i];
    const sim::Expectation& expectation = scenario.expectations[i];
    kept.verdicts.push_back({expectation.check, sim::describe(expectation), expectation.kind,
                             std::string(checker::to_string(verdict.outcome)), verdict.reason,
                             verdict.witnesses, verdict.violations});
  }
  if (telling) {
    kept.told = telling->expectation;
    kept.expected = telling->expected;
    return kept;
  }
  // --keep all: the first violation of the run.
  for (std::size_t i = 0; i < run.verdicts.size() && !kept.told; ++i) {
    if (run.verdicts[i].outcome != checker::Outcome::violated || kept.verdicts[i].check == "reached")
      continue;
    kept.told = i;
    kept.expected = sim::matches(scenario.expectations[i], run.verdicts[i]);
  }
  return kept;
}

// The logs of real servers, all of them beside each other. Throws OutputError.
void keep_logs(const std::string& servers, const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(servers, ignored)) {
    if (entry.path().extension() != ".log") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    write_file((fs::path(folder) / entry.path().filename()).string(), text.str());
  }
}

}  // namespace

Runner::Runner(const Cases& cases, const RunArguments& arguments, const std::string& servers,
               const std::atomic<bool>& interrupted, Progress& progress)
    : cases_(cases),
      arguments_(arguments),
      servers_(servers),
      interrupted_(interrupted),
      progress_(progress) {
  for (std::size_t c = 0; c < cases.size(); ++c) {
    left_.push_back(cases[c]->planned());
    for (std::size_t s = 0; s < cases[c]->seeds.size(); ++s) {
      if (cases[c]->mine(s)) jobs_.emplace_back(c, s);
    }
  }
}

void Runner::run() {
  std::vector<std::thread> threads;
  try {
    for (unsigned i = 1; i < arguments_.jobs; ++i) threads.emplace_back([this] { work(); });
  } catch (const std::exception&) {  // a limit on threads or memory: those that are there do it
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
  std::fill(left_.begin(), left_.end(), 0);  // it was cut short: nothing more comes
  settle_all();
}

void Runner::settle(std::size_t index) {
  const std::lock_guard guard(mutex_);
  --left_[index];
  settle_all();
}

// REQUIRES: nobody else has the mutex, or this thread has it.
void Runner::settle_all() {
  while (settled_ < cases_.size() && left_[settled_] == 0) on_settled(*cases_[settled_++]);
}

void Runner::work() {
  for (;;) {
    const std::size_t next = next_.fetch_add(1);
    if (next >= jobs_.size() || interrupted_ || stop_ || memory_is_short()) return;
    const auto [c, s] = jobs_[next];
    CaseResult& result = *cases_[c];
    {
      const std::lock_guard guard(mutex_);
      if (!result.error.empty() || !result.missing.empty()) continue;
    }
    const auto fail_all = [&] {
      const std::lock_guard guard(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop_ = true;
    };
    try {
      run_job(result, s);
    } catch (const Missing& missing) {
      if (result.named) {
        fail_all();
      } else {
        const std::lock_guard guard(mutex_);
        result.missing = missing.what();
      }
    } catch (const sim::BadProgram& bad) {
      const std::lock_guard guard(mutex_);
      if (result.error.empty()) {
        result.error = fmt::format("seed {}: {}", result.seeds[s], bad.what());
        result.bad_program = true;
      }
    } catch (const std::exception& error) {
      if (interrupted_) return;  // it was cut short
      const std::lock_guard guard(mutex_);
      if (result.error.empty()) result.error = fmt::format("seed {}: {}", result.seeds[s], error.what());
    }
    settle(c);
  }
}

std::string Runner::folder_of_servers(const CaseResult& result, std::uint64_t seed) const {
  return fmt::format("{}/{}-{}", servers_, result.folder, seed);
}

sim::RunResult Runner::run_seed(const CaseResult& result, std::uint64_t seed, bool keep_history) {
  sim::RunOptions options;
  options.embedded = arguments_.embedded;
  options.seed = seed;
  options.keep_history = keep_history;
  options.interrupted = [this] { return interrupted_.load(); };
  if (!arguments_.embedded) {
    options.folder = folder_of_servers(result, seed);
    fs::create_directories(options.folder);
  }
  sim::Decisions decisions(arguments_.decisions);
  if (!arguments_.decisions.empty()) options.decisions = &decisions;
  return arguments_.run(result.scenario, options);
}

void Runner::run_job(CaseResult& result, std::size_t index) {
  const auto start = std::chrono::steady_clock::now();
  const bool keep_all = !arguments_.out.empty() && arguments_.keep == Keep::all;
  const std::uint64_t seed = result.seeds[index];
  sim::RunResult run = run_seed(result, seed, !arguments_.embedded || keep_all);
  bool same = true;
  if (arguments_.check_determinism) same = run_seed(result, seed, false).trace == run.trace;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (keep_all) keep_run(result, describe_run(result, run, arguments_, std::nullopt), run.history);
  gather(result, index, std::move(run), same, seconds);
}

void Runner::gather(CaseResult& result, std::size_t index, sim::RunResult run, bool same, double seconds) {
  const std::lock_guard guard(mutex_);
  result.judge.add(run);
  result.traces[index] = run.trace;
  if (!same) {
    auto& seeds = result.nondeterministic;
    seeds.insert(std::upper_bound(seeds.begin(), seeds.end(), run.seed), run.seed);
  }
  ++result.done;
  result.seconds += seconds;
  result.grants += run.grants;
  result.waits += run.waits;
  const std::int64_t cost = sim::figure(run.figures, result.cost);
  result.total_cost += cost;
  result.worst_cost = std::max(result.worst_cost, cost);
  result.violated_runs += shows_violation(result, run) ? 1 : 0;
  bool& lost = lost_[&result];
  if (!lost && (!result.nondeterministic.empty() || result.judge.lost(result.seeds.size()))) {
    lost = true;
    ++unexpected_;
  }
  if (!arguments_.embedded) {
    auto& runs = remembered_[&result];
    runs[run.seed] = std::move(run);
    std::set<std::uint64_t> tellable;
    for (const sim::Tally& tally : result.judge.tallies()) {
      for (const auto& seed : {tally.first_miss_seed, tally.first_unknown_seed, tally.first_match_seed}) {
        if (seed) tellable.insert(*seed);
      }
    }
    std::erase_if(runs, [&](const auto& entry) { return !tellable.contains(entry.first); });
  }
  progress_.update(++done_, unexpected_, result.scenario.title());
}

std::pair<KeptRun, checker::History> Runner::recall(CaseResult& result, const Telling& telling) {
  const auto index = static_cast<std::size_t>(
      std::find(result.seeds.begin(), result.seeds.end(), telling.seed) - result.seeds.begin());
  sim::RunResult run;
  if (const auto found = remembered_.find(&result);
      found != remembered_.end() && found->second.contains(telling.seed)) {
    run = found->second.at(telling.seed);
  } else {
    run = run_seed(result, telling.seed, true);
    auto& seeds = result.nondeterministic;
    const bool known = std::binary_search(seeds.begin(), seeds.end(), run.seed);
    if (run.trace != result.traces.at(index) && !known)
      seeds.insert(std::upper_bound(seeds.begin(), seeds.end(), run.seed), run.seed);
  }
  KeptRun kept = describe_run(result, run, arguments_, telling);
  return {std::move(kept), std::move(run.history)};
}

void Runner::keep() {
  if (arguments_.keep != Keep::all && !arguments_.out.empty()) keep_told();
  if (!not_kept_.empty()) throw OutputError(not_kept_);
}

void Runner::keep_told() {
  for (const auto& result : cases_) {
    std::vector<Telling> worth = result->unexpected() ? result->failures() : std::vector<Telling>();
    if (worth.empty() && arguments_.keep == Keep::violated) {
      if (const auto telling = result->telling()) worth.push_back(*telling);
    }
    for (const Telling& telling : worth) {
      const auto [run, history] = recall(*result, telling);
      keep_run(*result, run, history);
    }
  }
}

void Runner::keep_run(CaseResult& result, const KeptRun& run, const checker::History& history) {
  const std::string folder = fmt::format("{}/{}/seed-{}", arguments_.out, result.folder, run.seed);
  std::string lost;
  try {
    write_kept_run(folder, run, history);
    if (!arguments_.embedded) keep_logs(folder_of_servers(result, run.seed), folder);
  } catch (const OutputError& error) {
    lost = error.what();
  }
  std::error_code ignored;
  const bool there = lost.empty() || fs::exists(folder + "/run.json", ignored);
  const std::lock_guard guard(mutex_);
  if (not_kept_.empty()) not_kept_ = lost;
  if (!there) return;
  const auto place = std::find_if(result.kept.begin(), result.kept.end(),
                                  [&](const KeptFolder& one) { return one.seed >= run.seed; });
  result.kept.insert(place, {run.seed, folder});
}

}  // namespace holdfast::tools
