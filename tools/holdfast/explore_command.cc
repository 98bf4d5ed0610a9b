// `holdfast explore`: a small scenario in every way in which few things go otherwise.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

#include "sim/explore/explore.h"
#include "sim/explore/lineage.h"
#include "sim/hunt/case_file.h"
#include "sim/scenario/units.h"
#include "tools/holdfast/case_story.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/explore_page.h"
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

// Whether it happens; a number of "order" and of places (0: never); else a time, in nanoseconds.
std::string value_text(const sim::Otherwise& one, std::uint64_t value) {
  if (one.kind == sim::Drawn::Kind::chance) return value == 0 ? "no" : "yes";
  if (one.stream.ends_with("/nth") && value == 0) return "never";
  if (one.stream == "order" || one.stream.ends_with("/nth")) return std::to_string(value);
  return sim::format_duration(Duration(static_cast<std::int64_t>(value)));
}

std::string told(const sim::Otherwise& one) {
  return fmt::format("    {} {}: {} in the place of {}\n", one.stream, one.number, value_text(one, one.value),
                     value_text(one, one.usual));
}

std::string progress_line(const sim::ExploreState& state, double seconds) {
  return fmt::format("{} executions, {:.0f}/s, {} otherwise, {} states, at least {} left", state.search.runs,
                     static_cast<double>(state.search.runs) / std::max(seconds, 1e-3),
                     state.search.deviations, state.search.states, state.search.left);
}

// "1ms, 2ms or 600ms"
std::string any_of(const std::vector<std::string>& texts) {
  std::string all;
  for (std::size_t i = 0; i < texts.size(); ++i)
    all += (i == 0 ? "" : i + 1 == texts.size() ? " or " : ", ") + texts[i];
  return all;
}

std::string values_text(const std::string& purpose, const sim::ExploreState::Values& values) {
  if (values.kind == sim::Drawn::Kind::chance) return purpose + ": yes or no";
  std::set<std::uint64_t> each;
  for (const auto& of_a_draw : values.of_a_draw) each.insert(of_a_draw.begin(), of_a_draw.end());
  if (values.places)
    return fmt::format("{} at each of its places {} to {}{}", purpose, *each.begin(),
                       *each.rbegin() - (values.or_never ? 1 : 0), values.or_never ? ", or never" : "");
  if (purpose == "readers" || purpose == "interrupts") return purpose + ": yes or no";
  std::vector<std::string> texts;
  for (const auto& of_a_draw : values.of_a_draw) {
    std::vector<std::string> its;
    for (const std::uint64_t value : of_a_draw)
      its.push_back(sim::format_duration(Duration(static_cast<std::int64_t>(value))));
    texts.push_back(any_of(its));
  }
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "; ") + text;
  return (purpose == "network" ? "messages take " : purpose + ": ") + all;
}

// "at most 3 things go otherwise, 1 of them a time"
std::string bound_of(const ExploreArguments& arguments) {
  std::vector<std::string> bounds;
  const auto most = [&](std::uint32_t bound, const char* one, const char* several) {
    if (bound != sim::kAll) bounds.push_back(fmt::format("at most {} {}", bound, bound == 1 ? one : several));
  };
  most(arguments.deviations, "thing goes otherwise", "things go otherwise");
  most(arguments.orders, "other task first", "other tasks first");
  most(arguments.times, "longer time", "longer times");
  most(arguments.faults, "fault elsewhere", "faults elsewhere");
  std::string text;
  for (const std::string& bound : bounds) text += (text.empty() ? "" : ", ") + bound;
  return text.empty() ? "anything goes otherwise" : text;
}

// How far it came. Runs with fewer deviations come first.
std::string came_to(const sim::SearchState& search) {
  std::string before;
  if (search.deviations == 1) before = "the usual run was run, ";
  if (search.deviations > 1)
    before = fmt::format("all of these runs in which at most {} go{} otherwise were run, ",
                         many(search.deviations - 1, "thing"), search.deviations == 2 ? "es" : "");
  return fmt::format("{}at least {} {} left\n", before, many(search.left, "execution"),
                     search.left == 1 ? "is" : "are");
}

// What it is complete for.
std::vector<std::string> complete_for(const ExploreArguments& arguments, const sim::ExploreState& state) {
  std::vector<std::string> lines = {
      fmt::format("orders of tasks, and of messages and timers of one time{}",
                  arguments.reduce ? ", but for orders of what has nothing to do with each other" : "")};
  for (const auto& [purpose, values] : state.values) lines.push_back(values_text(purpose, values));
  lines.push_back(fmt::format("names and jitter as seed {} gives them", arguments.seed));
  return lines;
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
  if (!arguments.page.empty()) require_writable_file("--page", arguments.page);
  keep_interrupts();
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Progress progress(0, "runs", false);
  sim::Lineage lineage;
  const sim::ExploreOptions options{
      .ground = ground,
      .seed = arguments.seed,
      .deviations = arguments.deviations,
      .orders = arguments.orders,
      .times = arguments.times,
      .faults = arguments.faults,
      .twice = arguments.twice,
      .reduce = arguments.reduce,
      .most_runs = arguments.runs.value_or(UINT64_MAX),
      .for_each = [&](std::size_t count, const auto& one) { for_each(arguments.jobs, count, one); },
      .stop =
          [&](const sim::ExploreState& now) {
            progress.tell([&] { return progress_line(now, seconds()); });
            return interrupted();
          },
      .lineage = arguments.page.empty() ? nullptr : &lineage,
  };
  const sim::ExploreState state = sim::explore(options);
  const double explored = seconds();
  progress.clear();
  ExitCode code = state.violation ? tell_violation(arguments, ground, state) : kMet;
  const sim::SearchState& search = state.search;
  const std::string bound = bound_of(arguments);
  const std::vector<std::string> lines = complete_for(arguments, state);
  std::string complete;
  for (const std::string& line : lines) complete += "  " + for_terminal(line, arguments.terminal) + "\n";
  print_out(fmt::format(
      "{}: {}: {} ({} of them to the end), {}, {} histories, {} to {} decisions in a run, {}, {:.1f} virtual "
      "hours, {:.1f} s, {:.0f}/s\n{}",
      for_terminal(arguments.file, arguments.terminal),
      search.complete   ? "complete, no violation in any run in which " + bound
      : state.violation ? std::string("a promise is broken")
                        : "not complete; the runs so far are among those in which " + bound,
      many(search.runs, "execution"), search.runs - search.joined, many(search.states, "state"),
      state.histories, search.least_points, search.most_points, many(state.grants, "grant"),
      static_cast<double>(state.virtual_ns) / 3.6e12, explored,
      static_cast<double>(search.runs) / std::max(explored, 1e-3), complete));
  if (!search.complete && !state.violation) print_out(came_to(search));
  if (state.unjudged > 0)
    print_out(fmt::format("{} in which a check had nothing to say\n", many(state.unjudged, "run")));
  if (!arguments.page.empty()) {
    const ExplorePage page{.bound = bound, .complete_for = lines};
    if (!write_explore_page(arguments, options, state, lineage, page)) code = worse(code, kOutput);
  }
  if (interrupted()) return worse(code, kInterrupted);
  return code;
}

}  // namespace holdfast::tools
