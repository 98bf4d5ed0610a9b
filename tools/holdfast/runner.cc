#include "tools/holdfast/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "lib/testing/server/missing.h"
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
  kept.world = arguments.embedded ? "embedded" : "real";
  kept.reproduce = result.reproduce(run.seed, arguments);
  kept.seed = run.seed;
  kept.trace = fmt::format("{:016x}", run.trace);
  kept.reentrant = scenario.lock->reentrant;
  kept.shop = run.summed_up;
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

}  // namespace

Runner::Runner(const Cases& cases, const RunArguments& arguments, const std::string& servers,
               const std::atomic<bool>& interrupted, Progress& progress)
    : cases_(cases),
      arguments_(arguments),
      servers_(servers),
      interrupted_(interrupted),
      progress_(progress) {
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (std::size_t s = 0; s < cases[c]->seeds.size(); ++s) jobs_.emplace_back(c, s);
  }
}

void Runner::run() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, arguments_.jobs); ++i) threads.emplace_back([this] { work(); });
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void Runner::work() {
  for (;;) {
    const std::size_t next = next_.fetch_add(1);
    if (next >= jobs_.size() || interrupted_ || stop_) return;
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
    } catch (const OutputError&) {
      fail_all();
    } catch (const std::exception& error) {
      if (interrupted_) return;  // it was cut short
      const std::lock_guard guard(mutex_);
      if (result.error.empty()) result.error = fmt::format("seed {}: {}", result.seeds[s], error.what());
    }
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
  if (arguments_.out.empty() || arguments_.keep == Keep::all) return;
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
  write_kept_run(folder, run, history);
  if (!arguments_.embedded) {
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(folder_of_servers(result, run.seed), ignored)) {
      if (entry.path().extension() != ".log") continue;
      fs::copy_file(entry.path(), fs::path(folder) / entry.path().filename(),
                    fs::copy_options::overwrite_existing, ignored);
    }
  }
  const std::lock_guard guard(mutex_);
  const auto place = std::find_if(result.kept.begin(), result.kept.end(),
                                  [&](const KeptFolder& one) { return one.seed >= run.seed; });
  result.kept.insert(place, {run.seed, folder});
}

}  // namespace holdfast::tools
