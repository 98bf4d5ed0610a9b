#include "checker/linearizability/search.h"

#include <algorithm>

#include "checker/linearizability/breadth_search.h"
#include "checker/linearizability/depth_search.h"
#include "checker/linearizability/forced.h"

namespace holdfast::checker {

namespace {

SearchResult race(const std::vector<Operation>& operations, const Model& model, const SearchBudget& budget) {
  constexpr std::uint64_t kTurn = 4096;
  std::optional<BreadthSearch> breadth;  // most histories are decided before its first turn
  DepthSearch depth(operations, model, budget.bytes / 2);
  std::optional<SearchResult> by_depth, by_breadth;
  const auto decided = [](const std::optional<SearchResult>& result) {
    return result && result->outcome != SearchOutcome::out_of_budget;
  };
  SearchProgress progress;
  for (const Operation& each : operations) progress.operations += each.unknown ? 0 : 1;
  const auto out_of = [&](const char* what) {
    SearchResult result{.outcome = SearchOutcome::out_of_budget, .steps = progress.steps, .spent = what};
    result.settled = progress.settled;
    result.widest = std::max(depth.widest(), breadth ? breadth->widest() : 0);
    return result;
  };
  while (progress.steps < budget.steps) {
    progress.settled = std::max(depth.settled(), breadth ? breadth->settled() : 0);
    if (budget.stop) {
      if (const char* what = budget.stop(progress)) return out_of(what);
    }
    const std::uint64_t turn = std::min(kTurn, budget.steps - progress.steps);
    if (!by_depth) {
      by_depth = depth.advance(turn);
      progress.steps += turn;
      if (decided(by_depth)) return *by_depth;
    }
    if (!by_breadth && progress.steps < budget.steps) {
      if (!breadth) breadth.emplace(operations, model, budget.bytes / 2);
      by_breadth = breadth->advance(std::min(turn, budget.steps - progress.steps));
      progress.steps += turn;
      if (decided(by_breadth)) return *by_breadth;
    }
    if (by_depth && by_breadth) return out_of("memory");
  }
  return out_of("steps");
}

}  // namespace

SearchResult search(const std::vector<Operation>& operations, const Model& model,
                    const SearchBudget& budget) {
  const std::vector<std::size_t> possible = possible_operations(operations, model);
  if (possible.size() == operations.size()) return race(operations, model, budget);
  std::vector<Operation> fewer;
  fewer.reserve(possible.size());
  for (const std::size_t at : possible) fewer.push_back(operations[at]);
  SearchResult result = race(fewer, model, budget);
  if (result.outcome == SearchOutcome::not_linearizable) result.stuck = possible[result.stuck];
  return result;
}

}  // namespace holdfast::checker
