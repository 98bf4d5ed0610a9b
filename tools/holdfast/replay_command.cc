// `holdfast replay`: a run of the embedded world once more, as a page to walk through.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "checker/holds/wording.h"
#include "sim/hunt/case_file.h"
#include "sim/replay/record_run.h"
#include "sim/replay/write_page.h"
#include "sim/scenario/problem.h"
#include "sim/scenario/scenario.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/kept_run.h"
#include "tools/holdfast/open_page.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected a folder that `run --out`, `hunt --out` or `explore --out` wrote, or a scenario file";

// What is run, and where its page goes.
struct Wanted {
  std::string file, variant;
  std::string decisions = {}, page = {};
  std::optional<std::uint64_t> seed = {};
  std::string trace = {};  // of the run that was kept, "" none
};

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// "x.decisions" beside "x.toml".
std::string decisions_beside(const std::string& file) {
  const std::string path = fs::path(file).replace_extension(".decisions").string();
  return exists(path) ? path : "";
}

Wanted of_kept(const std::string& folder, const KeptRun& run, const ReplayArguments& arguments) {
  if (!arguments.variant.empty() || !arguments.decisions.empty())
    throw BadUsage(
        fmt::format("{}: is a kept run, which has its variant and its decisions; expected {} in its "
                    "place for others",
                    folder, run.file));
  if (run.world != "embedded")
    throw BadUsage(
        folder +
        ": was run in the real world, expected a run of the embedded world: no other goes the same "
        "way again");
  Wanted wanted{.file = run.file, .variant = run.variant, .page = folder + "/replay.html"};
  wanted.seed = arguments.seed.value_or(run.seed);
  if (!arguments.seed) wanted.decisions = run.decisions;
  if (wanted.seed == run.seed && wanted.decisions == run.decisions) wanted.trace = run.trace;
  if (!exists(run.file))
    throw BadUsage(
        fmt::format("{}: its scenario {} is not there, expected to be called in the folder in which "
                    "it was run",
                    folder, run.file));
  return wanted;
}

Wanted of_file(const std::string& file, const ReplayArguments& arguments) {
  Wanted wanted{.file = file, .variant = arguments.variant == "base" ? "" : arguments.variant};
  wanted.seed = arguments.seed;
  wanted.decisions = arguments.decisions;
  if (wanted.decisions.empty() && !wanted.seed && wanted.variant.empty())
    wanted.decisions = decisions_beside(file);
  return wanted;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Wanted find(const ReplayArguments& arguments) {
  std::string what = arguments.what;
  if (!exists(what)) throw BadUsage(fmt::format("{}: no such file or folder, {}", what, kExpected));
  if (fs::path(what).filename() == "run.json") what = (fs::path(what).parent_path() / ".").string();
  if (!fs::is_directory(what)) {
    if (fs::path(what).extension() != ".toml")
      throw BadUsage(fmt::format("{}: is no scenario file (*.toml), {}", what, kExpected));
    return of_file(what, arguments);
  }
  while (what.size() > 1 && (what.ends_with('/') || what.ends_with("/."))) what.pop_back();
  if (const auto run = read_kept_run(what)) return of_kept(what, *run, arguments);
  const std::vector<std::string> files = files_in(what), runs = kept_below(what);
  if (files.size() + runs.size() == 0)
    throw BadUsage(fmt::format("{}: nothing to run again, {}", what, kExpected));
  if (files.size() + runs.size() > 1)
    throw BadUsage(fmt::format("{}: {} are here, expected one of them, such as {}", what,
                               files.empty() ? fmt::format("{} kept runs", runs.size())
                                             : fmt::format("{} scenario files", files.size()),
                               files.empty() ? runs.front() : files.front()));
  return files.empty() ? of_kept(runs.front(), *read_kept_run(runs.front()), arguments)
                       : of_file(files.front(), arguments);
}

std::uint64_t first_seed(const sim::Scenario& scenario) {
  return scenario.seeds.random > 0 || scenario.seeds.count() == 0 ? 1 : scenario.seeds.at(0);
}

sim::Scenario read(const Wanted& wanted) {
  sim::Scenario scenario = sim::read_scenario(wanted.file, wanted.variant, {});
  try {
    sim::require_world(scenario, true);
  } catch (const sim::BadScenario& error) {
    throw BadUsage(std::string(error.what()) + "; a replay is of the embedded world only");
  }
  return scenario;
}

// What the checks say, the first violation in full.
std::string told(const sim::Replay& replay, const Terminal& terminal) {
  std::string text = fmt::format("{}, seed {}: ", for_terminal(replay.title, terminal), replay.seed);
  if (replay.places.empty()) return text + "nothing is violated\n";
  const sim::Replay::Place& place = replay.places.front();
  return text + fmt::format("{} is violated{} at {} ms\n", place.check,
                            place.kind.empty() ? "" : " (" + place.kind + ")",
                            checker::format_ms(place.at_ns));
}

std::string counted(const sim::Replay& replay) {
  std::string text =
      fmt::format("{} steps: {} events, {} changes of keys, {} messages, {} decisions\n", replay.steps.size(),
                  replay.told.size(), replay.records.size(), replay.messages.size(), replay.drawings.size());
  if (replay.cut_ns)
    text += fmt::format("cut: it is recorded until {} ms only, more steps would not fit on a page\n",
                        checker::format_ms(*replay.cut_ns));
  if (replay.keys_left_out > 0)
    text += fmt::format("cut: {} changes of keys beyond the first ones of a server\n", replay.keys_left_out);
  return text;
}

std::string again(const Wanted& wanted, std::uint64_t seed, const std::string& command) {
  std::string line = for_shell(command) + " replay " + for_shell(wanted.file);
  if (!wanted.variant.empty()) line += " --variant " + for_shell(wanted.variant);
  return line + (wanted.decisions.empty() ? fmt::format(" --seed {}", seed)
                                          : " --decisions " + for_shell(wanted.decisions));
}

}  // namespace

ExitCode replay_command(const ReplayArguments& arguments) {
  Wanted wanted = find(arguments);
  const sim::Scenario scenario = read(wanted);
  sim::ReplayOptions options;
  if (!wanted.decisions.empty()) {
    const sim::DecisionsFile file = sim::read_decisions(wanted.decisions);
    options.changes = file.changes;
    if (!wanted.seed) wanted.seed = file.seed;
  }
  options.seed = wanted.seed.value_or(first_seed(scenario));
  if (!arguments.page.empty()) wanted.page = arguments.page;
  if (wanted.page.empty())
    wanted.page =
        for_file_name(fmt::format("{}{}{}-seed-{}", scenario.name, scenario.variant.empty() ? "" : "-",
                                  scenario.variant, options.seed)) +
        ".html";
  require_writable_file("--page", wanted.page);

  const sim::Recorded recorded = sim::record_run(scenario, options);
  const std::string trace = fmt::format("{:016x}", recorded.replay.trace);
  std::ostringstream page;
  sim::write_page(recorded.replay, again(wanted, options.seed, "holdfast"), page);
  write_file(wanted.page, page.str());
  print_out(told(recorded.replay, arguments.terminal) + counted(recorded.replay));
  if (!wanted.trace.empty() && wanted.trace != trace)
    print_out(
        fmt::format("not the run that was kept, whose trace is {}: {}, or holdfast, is another one now\n",
                    wanted.trace, for_terminal(wanted.file, arguments.terminal)));
  print_out(fmt::format("page        {}\nreproduce   {}\ntrace {}\n", for_terminal(wanted.page),
                        again(wanted, options.seed, arguments.command), trace));
  if (arguments.open) {
    finish_standard_output();
    open_page(wanted.page);
  }
  return kMet;
}

}  // namespace holdfast::tools
