#include "tools/holdfast/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "lib/testing/server/child_process.h"
#include "lib/testing/server/redis_process.h"
#include "sim/comparators/engine.h"
#include "sim/external/external_lock.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/explain.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;
using sim::Scenario;

struct ScenarioFile {
  std::string path;
  bool named = false;
};

std::vector<std::string> below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->path().extension() == ".toml" && !at->is_directory(ignored)) found.push_back(at->path().string());
  }
  if (error) throw BadUsage(fmt::format("{}: cannot be read ({})", folder, error.message()));
  if (found.empty())
    throw BadUsage(folder +
                   ": no scenario files here or below, expected *.toml; name a file or another folder");
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<ScenarioFile> collect_files(const std::vector<std::string>& arguments) {
  std::vector<ScenarioFile> files;
  std::map<fs::path, std::size_t> seen;
  const auto add = [&](const std::string& path, bool named) {
    std::error_code error;
    fs::path whole = fs::weakly_canonical(path, error);
    if (error) whole = path;
    const auto [at, fresh] = seen.try_emplace(whole, files.size());
    if (fresh) files.push_back({path, named});
    files[at->second].named |= named;
  };
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (fs::is_directory(argument, error)) {
      for (const std::string& path : below(argument)) add(path, false);
    } else {
      add(argument, true);  // reading it says what is wrong
    }
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

std::string variant_name(const Scenario& scenario) {
  return scenario.variant.empty() ? "base" : scenario.variant;
}

// Why `scenario` of a folder cannot be run; "" it can. Of a file that was named, throws.
std::string obstacle(const Scenario& scenario, bool embedded, bool named) {
  try {
    sim::require_world(scenario, embedded);
  } catch (const sim::BadScenario& problem) {
    if (named) throw;
    const std::string whole = problem.what();
    return whole.substr(problem.at().to_string().size() + 2);  // the file is told with it
  }
  sim::WorkloadOptions workload = scenario.workload;
  workload.folder = scenario.folder();
  if (const std::string missing = sim::missing_program(workload); !missing.empty()) {
    if (named) throw Missing(missing);
    return missing;
  }
  if (const sim::Engine* const engine = sim::find_engine(scenario.cluster.engine)) {
    const std::string missing = engine->missing();
    if (named && !missing.empty()) throw Missing(missing);
    return missing;
  }
  static const bool has_server = !find_program("redis-server").empty();
  if (embedded || has_server) return "";
  if (named) throw MissingServer();
  return MissingServer().what();
}

// Joins the variants of a file that lack the same, when they are all of it.
void note_not_run(std::vector<NotRun>& all, const std::string& file, const std::vector<NotRun>& of_file,
                  bool nothing_runs) {
  const bool same = std::all_of(of_file.begin(), of_file.end(),
                                [&](const NotRun& one) { return one.reason == of_file.front().reason; });
  if (!of_file.empty() && nothing_runs && same) {
    all.push_back({file, "", of_file.front().reason});
  } else {
    all.insert(all.end(), of_file.begin(), of_file.end());
  }
}

}  // namespace

Plan make_plan(const RunArguments& arguments) {
  Plan plan;
  std::vector<std::string> variants;
  std::set<std::string> folders;
  std::uint64_t runs = 0;
  const std::vector<ScenarioFile> files = collect_files(arguments.files);
  plan.many = files.size() > 1;
  for (const ScenarioFile& file : files) {
    std::vector<NotRun> not_run;
    const std::size_t before = plan.cases.size();
    std::vector<Scenario> scenarios = sim::read_scenarios(file.path);
    const bool alone = scenarios.size() == 1;
    for (Scenario& scenario : scenarios) {
      const std::string name = variant_name(scenario);
      variants.push_back(name);
      if (!arguments.variant.empty() && name != arguments.variant) continue;
      if (std::string why = obstacle(scenario, arguments.embedded, file.named); !why.empty()) {
        not_run.push_back({file.path, name, std::move(why)});
        continue;
      }
      std::string folder =
          for_file_name(scenario.name + (scenario.variant.empty() ? "" : "-" + scenario.variant));
      for (int number = 2; !folders.insert(folder).second; ++number)
        folder = fmt::format("{}-{}-{}", scenario.name, name, number);
      const sim::SeedSet asked = arguments.seeds.value_or(scenario.seeds);
      if (arguments.shard.of > 1 && asked.random > 0)
        throw BadUsage("--shard: " + file.path +
                       ": each shard would draw seeds of its own, expected --seeds A..B");
      std::vector<std::uint64_t> seeds = expand(asked);
      auto& added =
          plan.cases.emplace_back(std::make_unique<CaseResult>(std::move(scenario), std::move(seeds)));
      added->named = file.named;
      added->alone = alone;
      added->folder = std::move(folder);
      added->shard = arguments.shard;
      added->first_run = runs;
      runs += added->seeds.size();
    }
    note_not_run(plan.not_run, file.path, not_run, plan.cases.size() == before);
  }
  if (plan.cases.empty() && !plan.not_run.empty()) throw Missing(plan.not_run.front().reason);
  if (plan.cases.empty()) {
    std::sort(variants.begin(), variants.end());
    variants.erase(std::unique(variants.begin(), variants.end()), variants.end());
    throw BadUsage("--variant: no variant `" + arguments.variant + "`, expected " + sim::one_of(variants) +
                   sim::did_you_mean(arguments.variant, variants));
  }
  return plan;
}

std::uint64_t CaseResult::planned() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) count += mine(i) ? 1 : 0;
  return count;
}

ExitCode CaseResult::code() const {
  if (!error.empty()) return bad_program ? kFailed : kInternal;
  if (!missing.empty()) return kMissing;
  ExitCode code = kMet;
  if (!nondeterministic.empty()) code = kNotDeterministic;
  switch (judge.result()) {
    case sim::Tally::Result::met: return code;
    case sim::Tally::Result::failed: return worse(code, kFailed);
    case sim::Tally::Result::unknown:
    case sim::Tally::Result::too_few: return worse(code, kUnknown);
  }
  return code;
}

bool CaseResult::cut() const {
  if (!missing.empty() || !error.empty() || !nondeterministic.empty() || whole()) return false;
  return done == 0 || !judge.lost(seeds.size());
}

std::vector<Telling> CaseResult::failures() const {
  std::vector<Telling> found;
  const auto& tallies = judge.tallies();
  // What failed comes before what is unknown.
  for (const auto sort : {sim::Tally::Result::failed, sim::Tally::Result::unknown}) {
    for (std::size_t i = 0; i < tallies.size(); ++i) {
      if (tallies[i].result(scenario.expectations[i]) != sort) continue;
      const auto seed = culprit(scenario.expectations[i], tallies[i]);
      const auto same = [&](const Telling& one) { return one.seed == *seed; };
      if (seed && std::none_of(found.begin(), found.end(), same)) found.push_back({*seed, i, false});
    }
  }
  return found;
}

std::optional<Telling> CaseResult::telling() const {
  if (!error.empty() || !missing.empty() || !nondeterministic.empty() || done == 0) return std::nullopt;
  if (const auto found = failures(); !found.empty()) return found.front();
  const auto& tallies = judge.tallies();
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    const sim::Expectation& expectation = scenario.expectations[i];
    // A mark that is not hit is no violation that could be told.
    if (expectation.violated && expectation.check != "reached" && tallies[i].first_match_seed)
      return Telling{*tallies[i].first_match_seed, i, true};
  }
  return std::nullopt;
}

std::string CaseResult::reproduce(std::uint64_t seed, const RunArguments& arguments) const {
  std::string line = for_shell(arguments.command) + " run " + for_shell(scenario.file);
  if (!alone) line += " --variant " + variant_name(scenario);
  line += arguments.decisions_file.empty() ? " --seed " + std::to_string(seed)
                                           : " --decisions " + for_shell(arguments.decisions_file);
  if (!arguments.embedded) line += " --world real";
  if (std::binary_search(nondeterministic.begin(), nondeterministic.end(), seed))
    line += " --check-determinism";
  return line;
}

}  // namespace holdfast::tools
