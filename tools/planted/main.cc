// hunt_planted: what hunts find of what is known to be wrong, how soon, and how small it becomes.
//
// Hunts wrong versions of our locks and published designs with each strategy, and adds to a record
// (track_record.h); or makes large failing cases small (shrink_table.h); or explores a scenario with each
// wrong version of its lock (explore_table.h). No result depends on the number of jobs. The locks that ship
// are hunted by `holdfast hunt` (shipped_locks.py).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "sim/scenario/problem.h"
#include "sim/scenario/units.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/output.h"
#include "tools/planted/explore_table.h"
#include "tools/planted/make_record.h"
#include "tools/planted/shrink_table.h"

namespace holdfast::tools {
namespace {

struct Arguments {
  bool list = false, shrink = false, no_small = false;
  std::string only, page, record, time, explore, museum = "scenarios/museum";
  std::uint32_t deviations = 2, orders = sim::kAll, late = sim::kAll, faults = sim::kAll;
  std::vector<std::string> strategies;
  std::uint64_t runs = 1'024, hunts = 1, seed = 1, jobs = 2, real = 0;
};

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const sim::Strategy strategy : sim::kStrategies) names.emplace_back(to_string(strategy));
  return names;
}

void add_flags(CLI::App& app, Arguments& arguments) {
  const auto number = [&](const char* name, std::uint64_t& value, const char* about) {
    app.add_option(name, value, about)
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
        ->capture_default_str();
  };
  app.add_flag("--list", arguments.list, "the versions, and what is wrong with each");
  auto* const record = app.add_option("--record", arguments.record,
                                      "hunt what this track record lacks, and add to it: wrong versions and "
                                      "published designs, with each strategy");
  auto* const shrink =
      app.add_flag("--shrink", arguments.shrink, "make large failing cases small, and say what it took");
  record->excludes(shrink);
  auto* const explore = app.add_option("--explore", arguments.explore,
                                       "explore this scenario with each wrong version of its lock, and print "
                                       "a table; a time is the shortest or the longest of its range");
  explore->excludes(record)->excludes(shrink);
  const auto bound = [&](const char* name, std::uint32_t& value, const char* about) {
    app.add_option(name, value, about)->needs(explore);
  };
  bound("--deviations", arguments.deviations, "with --explore: how many things may go otherwise (2)");
  bound("--orders", arguments.orders, "with --explore: of these, other tasks that go first (all)");
  bound("--late", arguments.late, "with --explore: of these, longer times (all)");
  bound("--faults", arguments.faults, "with --explore: of these, faults that act elsewhere (all)");
  app.add_option("--only", arguments.only, "locks whose name has this text");
  app.add_option("--page", arguments.page, "with --shrink: write the page of results/ into this file")
      ->needs(shrink);
  number("--runs", arguments.runs, "the most of one hunt");
  number("--hunts", arguments.hunts,
         "hunts of each lock with each strategy, with one seed each; cases of each lock");
  number("--seed", arguments.seed, "of the first hunt");
  number("--jobs", arguments.jobs, "hunts at a time");
  app.add_option("--for", arguments.time, "with --record: begin nothing new after this time, such as 10m")
      ->needs(record);
  app.add_flag("--no-small", arguments.no_small, "with --record: make no find small")->needs(record);
  app.add_option("--strategy", arguments.strategies,
                 "with --record: hunt with this one only; may stand more than once")
      ->check(CLI::IsMember(strategy_names()))
      ->needs(record);
  app.add_option("--real", arguments.real,
                 "with --record: run what was made small so often on real servers, too")
      ->needs(record);
  app.add_option("--museum", arguments.museum,
                 "with --record: the scenarios that say what is broken in published designs")
      ->capture_default_str()
      ->needs(record);
}

int make_record(const Arguments& arguments) {
  std::vector<Subject> subjects = planted_subjects();
  for (Subject& one : published_subjects(arguments.museum)) subjects.push_back(std::move(one));
  MakeRecordOptions options{.path = arguments.record,
                            .hunts = arguments.hunts,
                            .seed = arguments.seed,
                            .strategies = {std::begin(sim::kStrategies), std::end(sim::kStrategies)},
                            .runs = arguments.runs,
                            .jobs = arguments.jobs,
                            .whole = arguments.only.empty(),
                            .small = !arguments.no_small,
                            .real = arguments.real,
                            .time = {}};
  if (!arguments.strategies.empty()) {
    std::erase_if(options.strategies, [&](const sim::Strategy strategy) {
      return std::find(arguments.strategies.begin(), arguments.strategies.end(), to_string(strategy)) ==
             arguments.strategies.end();
    });
  }
  if (!arguments.time.empty()) {
    options.time = sim::parse_duration(arguments.time);
    if (!options.time) throw BadUsage("--for: `" + arguments.time + "` is no time, expected one such as 10m");
  }
  require_writable_file("--record", arguments.record);
  const std::size_t missing = make_record(only(std::move(subjects), arguments.only), options);
  if (missing > 0) std::cout << missing << " are missing: call it again\n";
  return 0;
}

int run(const Arguments& arguments) {
  sim::add_planted_kinds();
  if (!arguments.record.empty()) return make_record(arguments);
  if (arguments.shrink) {
    if (!arguments.page.empty()) require_writable_file("--page", arguments.page);
    const std::string page = shrink_table(
        {.cases = arguments.hunts, .seed = arguments.seed, .jobs = arguments.jobs, .only = arguments.only});
    if (!arguments.page.empty()) write_file(arguments.page, page);
    return 0;
  }
  if (!arguments.explore.empty()) {
    explore_table({.file = arguments.explore,
                   .bound = {.seed = arguments.seed,
                             .deviations = arguments.deviations,
                             .orders = arguments.orders,
                             .times = arguments.late,
                             .faults = arguments.faults,
                             .twice = false},
                   .only = arguments.only,
                   .jobs = arguments.jobs});
    return 0;
  }
  if (!arguments.list)
    throw BadUsage("nothing is asked for, expected --list, --record, --shrink or --explore");
  for (const sim::PlantedVersion& version : sim::planted_versions())
    std::cout << fmt::format("{:<44} {:<17} {}\n", version.name, version.base, version.broken);
  return 0;
}

}  // namespace
}  // namespace holdfast::tools

int main(int argc, char** argv) {
  CLI::App app("what hunts find of what is known to be wrong, and how soon", "hunt_planted");
  holdfast::tools::Arguments arguments;
  holdfast::tools::add_flags(app, arguments);
  try {
    app.parse(argc, argv);
    return holdfast::tools::run(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  } catch (const holdfast::tools::BadUsage& error) {
    std::cerr << "hunt_planted: " << error.what() << "\n";
    return 64;
  } catch (const holdfast::sim::BadScenario& error) {
    std::cerr << "hunt_planted: " << error.what() << "\n";
    return 64;
  } catch (const std::exception& error) {
    std::cerr << "hunt_planted: " << error.what() << "\n";
    return 70;
  }
}
