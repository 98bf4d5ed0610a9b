// hunt_planted: how many hunted runs it takes to find each planted version.
//
// Each is hunted several times with each strategy, with seeds one after another. One line a version goes to
// standard output. The result does not depend on the number of jobs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

#include "sim/planted/measure.h"
#include "tools/holdfast/for_each.h"
#include "tools/memory/quick_new.h"

namespace holdfast::sim {
namespace {

struct Arguments {
  bool list = false, locks = false;
  std::string only, page;
  std::uint64_t runs = 20'000, hunts = 5, seed = 1, jobs = 2, strategies = 3;
};

void add_flags(CLI::App& app, Arguments& arguments) {
  const auto number = [&](const char* name, std::uint64_t& value, const char* about) {
    app.add_option(name, value, about)
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
        ->capture_default_str();
  };
  app.add_flag("--list", arguments.list, "the versions, and what is wrong with each");
  app.add_flag("--locks", arguments.locks, "hunt the locks themselves: nothing is to be found");
  app.add_option("--only", arguments.only, "versions whose name has this text");
  app.add_option("--page", arguments.page, "write the table of results/ into this file");
  number("--runs", arguments.runs, "the most of one hunt");
  number("--hunts", arguments.hunts, "hunts of each version, with one seed each");
  number("--seed", arguments.seed, "of the first hunt");
  number("--jobs", arguments.jobs, "hunts at a time");
  app.add_option("--strategies", arguments.strategies,
                 "1: as a hunt works; 2: and without feedback; 3: and without targets")
      ->check(CLI::Range(std::size_t{1}, std::size(kStrategies)))
      ->capture_default_str();
}

struct Measured {
  const PlantedVersion* version = nullptr;  // null: a lock that ships
  const LockKind* kind = nullptr;
  std::vector<std::vector<Search>> searches;  // by strategy, by seed
};

// The promises that were broken first, by how often.
std::string promises_of(const Measured& one) {
  std::set<std::string> promises;
  for (const auto& searches : one.searches) {
    for (const Search& search : searches) {
      if (search.runs) promises.insert(search.promise);
    }
  }
  std::string text;
  for (const std::string& promise : promises) text += (text.empty() ? "" : ", ") + promise;
  return text;
}

// One line; of a lock that ships, why.
void tell(const Measured& one) {
  std::cout << one.kind->name;
  for (const auto& searches : one.searches) {
    for (const Search& search : searches)
      std::cout << (search.runs ? fmt::format(" {}", *search.runs) : " -");
    std::cout << " |";
  }
  std::cout << " " << promises_of(one) << std::endl;
  if (one.version != nullptr) return;
  for (const auto& searches : one.searches) {
    for (const Search& search : searches) {
      if (search.runs) std::cout << "  " << search.why << std::endl;
    }
  }
}

std::vector<Measured> measure(const Arguments& arguments) {
  std::vector<Measured> all, bases;
  for (const PlantedVersion& version : planted_versions()) {
    if (version.name.find(arguments.only) == std::string_view::npos) continue;
    Measured one{
        .version = &version, .kind = find_lock_kind("planted-" + std::string(version.name)), .searches = {}};
    // Those that are known to escape are tried once.
    const bool once = !version.escapes.empty() && !arguments.locks;
    one.searches.assign(once ? 1 : arguments.strategies, std::vector<Search>(once ? 1 : arguments.hunts));
    (arguments.locks ? bases : all).push_back(std::move(one));
  }
  for (Measured& one : bases) {
    one.kind = find_lock_kind(one.version->base);
    one.version = nullptr;
    if (std::none_of(all.begin(), all.end(), [&](const Measured& other) { return other.kind == one.kind; }))
      all.push_back(std::move(one));
  }
  struct Job {
    std::size_t at, strategy, hunt;
  };
  std::vector<Job> jobs;
  std::vector<std::size_t> left(all.size(), 0);
  for (std::size_t at = 0; at < all.size(); ++at) {
    for (std::size_t strategy = 0; strategy < all[at].searches.size(); ++strategy) {
      for (std::size_t hunt = 0; hunt < all[at].searches[strategy].size(); ++hunt, ++left[at])
        jobs.push_back({at, strategy, hunt});
    }
  }
  std::mutex mutex;
  tools::for_each(static_cast<unsigned>(arguments.jobs), jobs.size(), [&](std::size_t i) {
    const Job& job = jobs[i];
    Measured& one = all[job.at];
    one.searches[job.strategy][job.hunt] =
        search_for(*one.kind, kStrategies[job.strategy], arguments.seed + job.hunt, arguments.runs);
    const std::lock_guard guard(mutex);
    if (--left[job.at] == 0) tell(one);
  });
  return all;
}

std::string cell(const std::vector<Search>& searches, std::uint64_t most) {
  const auto found =
      std::count_if(searches.begin(), searches.end(), [](const Search& one) { return one.runs.has_value(); });
  const auto median = median_runs(searches);
  std::string text = median ? std::to_string(*median) : fmt::format("> {}", most);
  if (found < static_cast<std::ptrdiff_t>(searches.size()))
    text += fmt::format(" ({} of {})", found, searches.size());
  return text;
}

std::string page(const Arguments& arguments, const std::vector<Measured>& all) {
  std::string text =
      "# Hunted defects\n\n"
      "Small wrong versions of the locks that Holdfast ships ([`sim/planted`](../sim/planted/README.md)), "
      "each hunted as its\n"
      "lock is ([`sim/hunt`](../sim/hunt/README.md)): nothing says where to look. How many runs it took "
      "until a promise was broken:\n";
  text += fmt::format("{}, of {} runs at most; in brackets how many of them found it.\n\n",
                      arguments.hunts == 1
                          ? "one hunt each"
                          : fmt::format("the median of {} hunts with different seeds", arguments.hunts),
                      arguments.runs);
  text += "```console\n$ build/hunt_planted ";
  text +=
      fmt::format("--runs {} --hunts {} --seed {} --strategies {} --page results/hunted-defects.md\n```\n\n",
                  arguments.runs, arguments.hunts, arguments.seed, arguments.strategies);
  std::vector<std::uint64_t> medians;
  std::size_t never = 0;
  for (const Measured& one : all) {
    const auto median = median_runs(one.searches[0]);
    if (median) medians.push_back(*median);
    const bool found = std::any_of(one.searches.begin(), one.searches.end(), [](const auto& searches) {
      return std::any_of(searches.begin(), searches.end(),
                         [](const Search& search) { return search.runs.has_value(); });
    });
    if (!found) ++never;
  }
  std::sort(medians.begin(), medians.end());
  text += fmt::format("{} versions. {} were found by most hunts", all.size(), medians.size());
  if (!medians.empty())
    text += fmt::format(", half of these within {} runs, the slowest within {}",
                        medians[(medians.size() - 1) / 2], medians.back());
  text += fmt::format("; {} were found by none.\n\n", never);
  text +=
      "`no feedback`: no case is changed or gone on with. `no targets`: without feedback, faults at times "
      "alone, and of all kinds in each case.\n\n";
  text +=
      "| version | lock | what is wrong | promise broken | all | no feedback | no targets "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const Measured& one : all) {
    text += fmt::format(
        "| `{}` | {} | {} | {} |", one.version->name, one.version->base, one.version->broken,
        one.version->escapes.empty() ? promises_of(one) : "none: " + std::string(one.version->escapes));
    for (std::size_t i = 0; i < std::size(kStrategies); ++i)
      text += i < one.searches.size() ? fmt::format(" {} |", cell(one.searches[i], arguments.runs)) : " |";
    text += "\n";
  }
  return text;
}

int run(const Arguments& arguments) {
  add_planted_kinds();
  if (arguments.list) {
    for (const PlantedVersion& version : planted_versions())
      std::cout << fmt::format("{:<44} {:<17} {}\n", version.name, version.base, version.broken);
    return 0;
  }
  const std::vector<Measured> all = measure(arguments);
  if (arguments.page.empty() || arguments.locks) return 0;
  std::ofstream out(arguments.page);
  out << page(arguments, all);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.page);
  return 0;
}

}  // namespace
}  // namespace holdfast::sim

int main(int argc, char** argv) {
  holdfast::tools::keep_small_blocks();
  CLI::App app("how many hunted runs it takes to find each planted version", "hunt_planted");
  holdfast::sim::Arguments arguments;
  holdfast::sim::add_flags(app, arguments);
  try {
    app.parse(argc, argv);
    return holdfast::sim::run(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  } catch (const std::exception& error) {
    std::cerr << "hunt_planted: " << error.what() << "\n";
    return 70;
  }
}
