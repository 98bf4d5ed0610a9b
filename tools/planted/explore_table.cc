#include "tools/planted/explore_table.h"

#include <fmt/format.h>

#include <iostream>
#include <vector>

#include "sim/hunt/ground.h"
#include "sim/planted/planted.h"
#include "sim/scenario/write_document.h"
#include "tools/holdfast/for_each.h"

namespace holdfast::tools {
namespace {

std::string line_of(const std::string& lock, const sim::ExploreState& state) {
  const sim::SearchState& search = state.search;
  const std::string broken = state.violation   ? fmt::format("`{}` | {}", state.violation->failure.promise(),
                                                             state.violation->otherwise.size())
                             : search.complete ? "nothing, complete | "
                                               : "nothing, not complete | ";
  return fmt::format("| `{}` | {} | {} | {} |", lock, search.runs, search.states, broken);
}

}  // namespace

std::string explore_table(const ExploreTableOptions& options) {
  const sim::Ground ground = sim::ground_of_file(options.file);
  std::vector<std::string> locks = {std::string(ground.lock->name)};
  for (const auto* versions : {&sim::planted_controls(), &sim::planted_versions()}) {
    for (const sim::PlantedVersion& version : *versions) {
      if (version.base == ground.lock->name && version.make_latches == nullptr)
        locks.push_back("planted-" + std::string(version.name));
    }
  }
  std::string table = "| lock | executions | states | broken | other than usual |\n|---|---|---|---|---|\n";
  for (const std::string& lock : locks) {
    if (lock.find(options.only) == std::string::npos) continue;
    sim::ExploreOptions bound = options.bound;
    bound.ground = ground;
    bound.ground.lock = sim::find_lock_kind(lock);
    set_key(section_of(bound.ground.given, "lock"), "kind", sim::text_value(lock));
    const unsigned jobs = static_cast<unsigned>(options.jobs);
    bound.for_each = [jobs](std::size_t count, const auto& one) { for_each(jobs, count, one); };
    const std::string line = line_of(lock, sim::explore(bound));
    std::cout << line << std::endl;
    table += line + "\n";
  }
  return table;
}

}  // namespace holdfast::tools
