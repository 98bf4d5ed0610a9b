#include "sim/planted/measure.h"

#include <algorithm>
#include <limits>

namespace holdfast::sim {

Search search_for(const LockKind& kind, Strategy strategy, std::uint64_t seed, std::uint64_t most) {
  HuntOptions options{.ground = ground_of(kind), .seed = seed, .runs = most};
  options.feedback = strategy == Strategy::all;
  options.ground.targets = options.ground.swarm = strategy != Strategy::no_targets;
  options.stop = [](const HuntState& state) { return !state.finds.empty(); };
  const HuntState state = hunt(options);
  Search search{.runs = std::nullopt, .promise = "", .why = "", .tried = state.runs};
  for (const auto& [name, find] : state.finds) {
    if (search.runs && *search.runs <= find.run) continue;
    search.runs = find.run;
    search.promise = find.failure.promise();
    search.why = find.failure.why;
  }
  if (search.runs) ++*search.runs;
  return search;
}

std::optional<std::uint64_t> median_runs(const std::vector<Search>& searches) {
  constexpr std::uint64_t kNotFound = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> runs;
  for (const Search& search : searches) runs.push_back(search.runs.value_or(kNotFound));
  if (runs.empty()) return std::nullopt;
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>((runs.size() - 1) / 2);
  std::nth_element(runs.begin(), middle, runs.end());
  return *middle == kNotFound ? std::nullopt : std::optional(*middle);
}

}  // namespace holdfast::sim
