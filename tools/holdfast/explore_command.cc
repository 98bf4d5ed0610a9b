// `holdfast explore`: a small scenario in every way in which few things go otherwise.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "sim/explore/explore.h"
#include "sim/hunt/case_file.h"
#include "sim/scenario/units.h"
#include "tools/holdfast/case_story.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/for_each.h"
#include "tools/holdfast/interrupt.h"
#include "tools/holdfast/output.h"
#include "tools/holdfast/progress.h"

namespace holdfast::tools {
namespace {

using Clock = std::chrono::steady_clock;

std::string many(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Whether it happens; a number of "order" and of places; else a time, in nanoseconds.
std::string value_text(const sim::Otherwise& one, std::uint64_t value) {
  if (one.kind == sim::Drawn::Kind::chance) return value == 0 ? "no" : "yes";
  if (one.stream == "order" || one.stream.ends_with("/nth")) return std::to_string(value);
  return sim::format_duration(Duration(static_cast<std::int64_t>(value)));
}

std::string told(const sim::Otherwise& one) {
  return fmt::format("    {} {}: {} in the place of {}\n", one.stream, one.number, value_text(one, one.value),
                     value_text(one, one.usual));
}

std::string progress_line(const sim::ExploreState& state, double seconds) {
  return fmt::format("{} runs, {:.0f}/s, {} otherwise, {} histories", state.search.runs,
                     static_cast<double>(state.search.runs) / std::max(seconds, 1e-3),
                     state.search.deviations, state.histories);
}

// The file of the run, below --out; "" without it.
std::string write(const ExploreArguments& arguments, const sim::Ground& ground,
                  const sim::ExploreState::Violation& violation, const std::string& story) {
  const sim::CaseFile file =
      violation.failure.of_harness()
          ? sim::case_file_of_harness(violation.one, violation.failure)
          : sim::case_file(ground, {.one = violation.one, .seeds_of_20 = 0}, violation.failure, story);
  const std::filesystem::path folder(arguments.out);
  const std::string path = (folder / (file.name + ".toml")).string();
  write_file(path, file.toml);
  if (!file.decisions.empty()) write_file((folder / (file.name + ".decisions")).string(), file.decisions);
  return path;
}

ExitCode tell_violation(const ExploreArguments& arguments, const sim::Ground& ground,
                        const sim::ExploreState& state) {
  const sim::ExploreState::Violation& violation = *state.violation;
  const Terminal& terminal = arguments.terminal;
  std::string text =
      fmt::format("{} {}: in run {}, the first of those in which {} other than usual\n", bad_sign(terminal),
                  for_terminal(violation.failure.name(), terminal), state.search.runs,
                  violation.otherwise.size() == 1 ? "one thing is"
                                                  : fmt::format("{} things are", violation.otherwise.size()));
  for (const sim::Otherwise& one : violation.otherwise) text += told(one);
  text += "    " + for_terminal(violation.failure.why, terminal) + "\n";
  const bool of_harness = violation.failure.of_harness();
  if (!of_harness) text += "\n" + story_of(violation.one, violation.failure, terminal) + "\n";
  print_out(text);
  ExitCode code = of_harness ? kInternal : kFailed;
  if (arguments.out.empty()) return code;
  const bool written = try_to_write([&] {
    const std::string story = of_harness ? "" : story_of(violation.one, violation.failure, kInAFile);
    print_out(fmt::format("{}\n", for_terminal(write(arguments, ground, violation, story), terminal)));
  });
  return written ? code : worse(code, kOutput);
}

}  // namespace

ExitCode explore_command(const ExploreArguments& arguments) {
  const sim::Ground ground = sim::ground_of_file(arguments.file);
  if (!arguments.out.empty()) require_writable_folder("--out", arguments.out);
  keep_interrupts();
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Progress progress(0, "runs", false);
  const sim::ExploreState state = sim::explore({
      .ground = ground,
      .seed = arguments.seed,
      .deviations = arguments.deviations,
      .most_runs = arguments.runs.value_or(UINT64_MAX),
      .for_each = [&](std::size_t count, const auto& one) { for_each(arguments.jobs, count, one); },
      .stop =
          [&](const sim::ExploreState& now) {
            progress.tell([&] { return progress_line(now, seconds()); });
            return interrupted();
          },
  });
  const double explored = seconds();
  progress.clear();
  ExitCode code = state.violation ? tell_violation(arguments, ground, state) : kMet;
  const std::string bound = state.search.deviations == 0 ? "nothing goes otherwise"
                            : state.search.deviations == 1
                                ? "at most one thing goes otherwise"
                                : fmt::format("at most {} things go otherwise", state.search.deviations);
  print_out(fmt::format(
      "{}: {}: {}, {} histories, {} to {} decisions in a run, {}, {:.1f} virtual hours, {:.0f}/s\n",
      for_terminal(arguments.file, arguments.terminal),
      state.search.complete ? "complete, no violation in any run in which " + bound
      : state.violation     ? std::string("a promise is broken")
                            : "not complete; the runs so far are among those in which " + bound,
      many(state.search.runs, "run"), state.histories, state.search.least_points, state.search.most_points,
      many(state.grants, "grant"), static_cast<double>(state.virtual_ns) / 3.6e12,
      static_cast<double>(state.search.runs) / std::max(explored, 1e-3)));
  if (state.unjudged > 0)
    print_out(fmt::format("{} in which a check had nothing to say\n", many(state.unjudged, "run")));
  if (interrupted()) return worse(code, kInterrupted);
  return code;
}

}  // namespace holdfast::tools
