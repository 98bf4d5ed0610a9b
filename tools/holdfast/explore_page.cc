#include "tools/holdfast/explore_page.h"

#include <fmt/format.h>

#include <set>
#include <sstream>

#include "sim/explore/tree.h"
#include "sim/replay/record_run.h"
#include "sim/replay/write_tree.h"
#include "sim/scenario/parse_scenario.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/open_page.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

std::string again(const ExploreArguments& arguments) {
  std::string line = "holdfast explore " + for_shell(arguments.file);
  const auto bound = [&](const char* flag, std::uint32_t value, std::uint32_t usual) {
    if (value != usual)
      line += fmt::format(" {} {}", flag, value == sim::kAll ? "all" : std::to_string(value));
  };
  const ExploreArguments usual;
  bound("--deviations", arguments.deviations, usual.deviations);
  bound("--orders", arguments.orders, usual.orders);
  bound("--late", arguments.times, usual.times);
  bound("--faults", arguments.faults, usual.faults);
  if (!arguments.twice) line += " --no-twice";
  if (!arguments.reduce) line += " --no-reduction";
  if (arguments.runs) line += fmt::format(" --runs {}", *arguments.runs);
  if (arguments.seed != usual.seed) line += fmt::format(" --seed {}", arguments.seed);
  return line + " --page " + for_shell(arguments.page);
}

// A recording takes some 20 KB of the page.
constexpr std::size_t kRecorded = 24;

// Those that were asked for, those on the way to the broken promise, and the first ones.
std::set<std::uint64_t> shown_of(const ExploreArguments& arguments, const sim::ExploreTree& tree) {
  const std::set<std::uint64_t> wanted(arguments.shown.begin(), arguments.shown.end());
  std::set<std::uint64_t> shown;
  for (const sim::ExploreTree::Run& run : tree.runs) {
    if (wanted.contains(run.number)) shown.insert(run.number);
    if (run.end != sim::Lineage::End::broke) continue;
    for (const sim::ExploreTree::Run* on_the_way = &run; on_the_way->number != 1;
         on_the_way = &tree.runs[on_the_way->parent])
      shown.insert(on_the_way->number);
  }
  for (const sim::ExploreTree::Run& run : tree.runs) {
    if (shown.size() >= kRecorded + wanted.size()) break;
    shown.insert(run.number);
  }
  return shown;
}

}  // namespace

bool write_explore_page(const ExploreArguments& arguments, const sim::ExploreOptions& options,
                        const sim::ExploreState& state, const sim::Lineage& lineage,
                        const ExplorePage& page) {
  const sim::ExploreTree tree = sim::tree_of(options, state, lineage, {.wanted = arguments.shown});
  sim::TreePage its{.title = arguments.file,
                    .about = {},
                    .lock = {},
                    .reproduce = again(arguments),
                    .bound = page.bound,
                    .complete_for = page.complete_for,
                    .shown = {}};
  const std::set<std::uint64_t> shown = shown_of(arguments, tree);
  for (const std::uint64_t number : shown) {
    const sim::HuntCase one = sim::explored_run(options, lineage, number);
    const sim::Scenario scenario = sim::parse_base(one.document, arguments.file);
    its.title = scenario.title();
    its.about = scenario.about;
    its.lock = scenario.lock->name;
    its.shown.emplace_back(number,
                           sim::record_run(scenario, {.seed = one.seed, .changes = one.changes}).replay);
  }
  std::ostringstream text;
  sim::write_tree_page(tree, state, its, text);
  if (!try_to_write([&] { write_file(arguments.page, text.str()); })) return false;
  std::string line = fmt::format("page {}: {} of {} runs, {} of them with all their decisions\n",
                                 for_terminal(arguments.page, arguments.terminal), tree.runs.size(),
                                 tree.explored, tree.opened);
  for (const std::uint64_t number : arguments.shown) {
    if (!shown.contains(number))
      line += fmt::format("run {}, of --show, is none of these: there are {}\n", number, tree.explored);
  }
  print_out(line);
  if (arguments.open) {
    finish_standard_output();
    open_page(arguments.page);
  }
  return true;
}

}  // namespace holdfast::tools
