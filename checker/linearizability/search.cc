#include "checker/linearizability/search.h"

#include <algorithm>

#include "checker/linearizability/breadth_search.h"
#include "checker/linearizability/depth_search.h"

namespace holdfast::checker {

SearchResult search(const std::vector<Operation>& operations, const Model& model,
                    const SearchBudget& budget) {
  constexpr std::uint64_t kTurn = 4096;
  std::optional<BreadthSearch> breadth;  // most histories are decided before its first turn
  DepthSearch depth(operations, model, budget.bytes / 2);
  std::optional<SearchResult> by_depth, by_breadth;
  const auto decided = [](const std::optional<SearchResult>& result) {
    return result && result->outcome != SearchOutcome::out_of_budget;
  };
  for (std::uint64_t spent = 0; spent < budget.steps;) {
    const std::uint64_t turn = std::min(kTurn, budget.steps - spent);
    if (!by_depth) {
      by_depth = depth.advance(turn);
      spent += turn;
      if (decided(by_depth)) return *by_depth;
    }
    if (!by_breadth && spent < budget.steps) {
      if (!breadth) breadth.emplace(operations, model, budget.bytes / 2);
      by_breadth = breadth->advance(std::min(turn, budget.steps - spent));
      spent += turn;
      if (decided(by_breadth)) return *by_breadth;
    }
    if (by_depth && by_breadth) return *by_breadth;  // neither has memory left
  }
  return {.outcome = SearchOutcome::out_of_budget, .steps = budget.steps, .spent = "steps"};
}

}  // namespace holdfast::checker
