// `holdfast run`: reads every file, then runs every scenario over its seeds on a few threads, then tells.
//
// Results are gathered by (case, index of the seed), so that what is printed depends on neither --jobs nor
// timing.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "checker/history/history_jsonl.h"
#include "checker/story/timeline.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/scenario/run.h"
#include "sim/world/trace.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/progress.h"
#include "tools/holdfast/reports.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using sim::Scenario;
using sim::Tally;

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

std::vector<std::string> collect_files(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!fs::is_directory(argument, error)) {
      files.push_back(argument);  // reading it says what is wrong
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(argument, error)) {
      if (entry.path().extension() == ".toml") found.push_back(entry.path().string());
    }
    if (found.empty()) throw BadUsage(argument + ": no scenario files here, expected *.toml");
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::vector<std::uint64_t> expand(const sim::SeedSet& set) {
  std::vector<std::uint64_t> seeds;
  for (const auto& [low, high] : set.ranges) {
    for (std::uint64_t seed = low;; ++seed) {
      seeds.push_back(seed);
      if (seed == high) break;
    }
  }
  std::random_device device;
  for (std::uint64_t i = 0; i < set.random; ++i) seeds.push_back(device() & 0x7fffffffu);
  return seeds;
}

// All files are validated before any run.
Cases plan(const RunArguments& arguments) {
  Cases cases;
  std::vector<std::string> variants;
  for (const std::string& file : collect_files(arguments.files)) {
    for (Scenario& scenario : sim::read_scenarios(file)) {
      const std::string name = scenario.variant.empty() ? "base" : scenario.variant;
      variants.push_back(name);
      if (!arguments.variant.empty() && name != arguments.variant) continue;
      sim::require_world(scenario, arguments.embedded);
      std::vector<std::uint64_t> seeds = expand(arguments.seeds.value_or(scenario.seeds));
      cases.push_back(std::make_unique<CaseResult>(std::move(scenario), std::move(seeds)));
    }
  }
  if (cases.empty()) {
    throw BadUsage("--variant: no variant `" + arguments.variant + "`, expected " + sim::one_of(variants) +
                   sim::did_you_mean(arguments.variant, variants));
  }
  return cases;
}

// Runs jobs on `threads` threads and gathers what comes of them.
class Runner {
 public:
  Runner(Cases& cases, const RunArguments& arguments, const std::string& folder, Progress& progress)
      : cases_(cases), arguments_(arguments), folder_(folder), progress_(progress) {
    for (std::size_t c = 0; c < cases.size(); ++c) {
      for (std::size_t s = 0; s < cases[c]->seeds.size(); ++s) jobs_.emplace_back(c, s);
    }
  }

  void run() {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, arguments_.jobs); ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    if (missing_) std::rethrow_exception(missing_);
  }

 private:
  void work() {
    for (;;) {
      const std::size_t next = next_.fetch_add(1);
      if (next >= jobs_.size() || interrupted != 0 || stop_) return;
      const auto [c, s] = jobs_[next];
      CaseResult& result = *cases_[c];
      {
        const std::lock_guard guard(mutex_);
        if (!result.error.empty()) continue;
      }
      try {
        run_job(result, s);
      } catch (const MissingServer&) {
        const std::lock_guard guard(mutex_);
        missing_ = std::current_exception();
        stop_ = true;
      } catch (const std::exception& error) {
        const std::lock_guard guard(mutex_);
        if (result.error.empty()) {
          result.error = fmt::format("seed {}: {}", result.seeds[s], error.what());
        }
      }
    }
  }

  sim::RunResult run_seed(const CaseResult& result, std::size_t s, bool keep_history) {
    sim::RunOptions options;
    options.embedded = arguments_.embedded;
    options.seed = result.seeds[s];
    options.keep_history = keep_history;
    if (!arguments_.embedded) {
      options.folder =
          fmt::format("{}/{}-{}-{}", folder_, result.scenario.name,
                      result.scenario.variant.empty() ? "base" : result.scenario.variant, options.seed);
      fs::create_directories(options.folder);
    }
    return arguments_.run(result.scenario, options);
  }

  void run_job(CaseResult& result, std::size_t s) {
    const auto start = std::chrono::steady_clock::now();
    sim::RunResult run = run_seed(result, s, !arguments_.embedded || !arguments_.out.empty());
    bool same = true;
    if (arguments_.check_determinism) same = run_seed(result, s, false).trace == run.trace;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    const std::lock_guard guard(mutex_);
    result.judge.add(run);
    result.traces[s] = run.trace;
    if (!same)
      result.nondeterministic.insert(
          std::upper_bound(result.nondeterministic.begin(), result.nondeterministic.end(), run.seed),
          run.seed);
    ++result.done;
    result.seconds += seconds;
    result.grants += run.grants;
    result.waits += run.waits;
    result.oversold += run.oversold;
    result.worst_oversold = std::max(result.worst_oversold, run.oversold);
    if (!run.story.empty()) {
      ++result.violated_runs;
      ++violated_;
      if (run.seed < result.story_seed) {
        result.story_seed = run.seed;
        result.story = run.story;
        result.story_check = run.story_check;
        std::vector<checker::Witness>& witnesses = story_witnesses_[&result];
        witnesses.clear();
        for (const checker::Verdict& verdict : run.verdicts) {
          for (const checker::Witness& witness : verdict.witnesses) witnesses.push_back(witness);
        }
        if (!arguments_.embedded || !arguments_.out.empty()) story_history_[&result] = std::move(run.history);
      }
    }
    progress_.update(++done_, violated_, result.scenario.title());
  }

 public:
  // History and story of each case's story seed, below `out`/<scenario>-<variant>/.
  void write_artefacts(const std::string& out) {
    for (const auto& result : cases_) {
      if (result->story_seed == UINT64_MAX) continue;
      const std::string folder = fmt::format("{}/{}{}{}/seed-{}", out, result->scenario.name,
                                             result->scenario.variant.empty() ? "" : "-",
                                             result->scenario.variant, result->story_seed);
      auto found = story_history_.find(result.get());
      if (found == story_history_.end()) {  // the embedded world can simply live it again
        const auto index = static_cast<std::size_t>(
            std::find(result->seeds.begin(), result->seeds.end(), result->story_seed) -
            result->seeds.begin());
        found = story_history_.emplace(result.get(), run_seed(*result, index, true).history).first;
      }
      write_file(folder + "/history.jsonl", checker::to_jsonl(found->second));
      write_page(folder + "/timeline.html", *result, found->second);
      write_file(folder + "/story.txt", result->story);
      if (!arguments_.embedded) {
        const fs::path logs = fmt::format(
            "{}/{}-{}-{}", folder_, result->scenario.name,
            result->scenario.variant.empty() ? "base" : result->scenario.variant, result->story_seed);
        std::error_code ignored;
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(logs, ignored)) {
          if (entry.path().extension() == ".log") {
            fs::copy_file(entry.path(), fs::path(folder) / entry.path().filename(),
                          fs::copy_options::overwrite_existing, ignored);
          }
        }
      }
      result->story_folder = folder;
    }
  }

 private:
  void write_page(const std::string& path, const CaseResult& result, const checker::History& history) const {
    std::vector<checker::Witness> witnesses = story_witnesses_.at(&result);
    std::stable_sort(witnesses.begin(), witnesses.end(), [](const auto& a, const auto& b) {
      return a.acquires.has_value() > b.acquires.has_value();  // two owners first
    });
    std::ostringstream page;
    checker::write_timeline(history, witnesses,
                            {.title = fmt::format("{}, seed {}", result.scenario.title(), result.story_seed),
                             .reentrant = result.scenario.lock->reentrant},
                            page);
    write_file(path, page.str());
  }

  Cases& cases_;
  const RunArguments& arguments_;
  const std::string& folder_;
  Progress& progress_;
  std::vector<std::pair<std::size_t, std::size_t>> jobs_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::uint64_t done_ = 0, violated_ = 0;
  std::exception_ptr missing_;
  std::map<const CaseResult*, std::vector<checker::Witness>> story_witnesses_;
  std::map<const CaseResult*, checker::History> story_history_;  // looked up only, never iterated
};

void print_case(const CaseResult& result) {
  const Scenario& scenario = result.scenario;
  const ExitCode code = result.code();
  const char* sign = code == kMet ? "✓" : code == kUnknown ? "?" : "✗";
  std::string weight = fmt::format("{} run{}, {} grants, {} waited", result.done, result.done == 1 ? "" : "s",
                                   result.grants, result.waits);
  if (scenario.workload.kind == sim::WorkloadKind::seckill)
    weight += fmt::format(", {} oversold (worst run {})", result.oversold, result.worst_oversold);
  fmt::print("{} {}: {}\n", sign, scenario.title(), weight);
  if (!result.error.empty()) fmt::print("    ✗ the harness broke: {}\n", result.error);
  for (const std::uint64_t seed : result.nondeterministic) {
    fmt::print("    ✗ seed {} gave two different histories\n", seed);
  }
  for (std::size_t i = 0; i < scenario.expectations.size() && result.done > 0; ++i) {
    const sim::Expectation& expectation = scenario.expectations[i];
    const Tally& tally = result.judge.tallies()[i];
    const Tally::Result verdict = tally.result(expectation);
    fmt::print("    {} {}: {} of {}{}\n",
               verdict == Tally::Result::met       ? "✓"
               : verdict == Tally::Result::unknown ? "?"
                                                   : "✗",
               describe(expectation), tally.matching, tally.runs,
               tally.unknown > 0 ? fmt::format(" ({} unknown)", tally.unknown) : "");
    if (verdict == Tally::Result::met) continue;
    const std::string& why = tally.first_miss.empty() ? tally.first_unknown : tally.first_miss;
    fmt::print("      {}:{}: seed {}: {}\n", expectation.at.file, expectation.at.line,
               tally.misses.empty() ? 0 : tally.misses.front(), why.empty() ? "not what was expected" : why);
  }
}

void print_story(const CaseResult& result, bool embedded) {
  fmt::print("\n{}, seed {}\n{}\n\n{}\n", result.scenario.title(), result.story_seed, result.scenario.about,
             result.story);
  if (!result.story_folder.empty()) {
    fmt::print("artefacts   {}/\ntimeline    {}/timeline.html\n", result.story_folder, result.story_folder);
  }
  fmt::print("reproduce   {}\n\n", result.reproduce(result.story_seed, embedded));
}

}  // namespace

ExitCode run_command(const RunArguments& arguments) {
  Cases cases = plan(arguments);
  std::uint64_t total = 0;
  for (const auto& result : cases) total += result->seeds.size();

  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::unique_ptr<TemporaryFolder> folder;
  if (!arguments.embedded) folder = std::make_unique<TemporaryFolder>();
  const std::string path = folder ? folder->path() : "";
  {
    Progress progress(total, "runs");
    Runner runner(cases, arguments, path, progress);
    runner.run();
    progress.clear();
    if (!arguments.out.empty()) runner.write_artefacts(arguments.out);
  }

  ExitCode code = interrupted != 0 ? kInterrupted : kMet;
  sim::Trace trace;
  for (const auto& result : cases) {
    print_case(*result);
    if (result->done > 0 || !result->error.empty()) code = worse(code, result->code());
    for (const std::uint64_t one : result->traces) trace.add(one);
  }
  // A failed case first; else the first that shows a violation, expected though it was.
  const CaseResult* telling = nullptr;
  for (const auto& result : cases) {
    if (result->story_seed == UINT64_MAX) continue;
    if (telling == nullptr || (telling->code() == kMet && result->code() != kMet)) telling = result.get();
  }
  if (telling != nullptr) print_story(*telling, arguments.embedded);
  if (!arguments.junit.empty()) write_file(arguments.junit, junit_xml(cases, arguments.embedded));
  if (!arguments.json.empty())
    write_file(arguments.json, json_document(cases, arguments.embedded, trace.digest()));
  if (arguments.github) fmt::print("{}", github_annotations(cases, arguments.embedded));
  if (interrupted != 0) fmt::print(stderr, "interrupted: what was done is shown above\n");
  fmt::print("trace {:016x}\n", trace.digest());
  return code;
}

}  // namespace holdfast::tools
