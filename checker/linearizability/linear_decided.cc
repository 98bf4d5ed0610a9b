// From whether there is an order to the completion that no order explains: the first returns have one, or all
// up to the stuck one have none.
#include <algorithm>

#include "checker/invariant.h"
#include "checker/linearizability/linear.h"

namespace holdfast::checker {

std::optional<LinearResult> check_linear(const Model& model, const std::vector<Operation>& operations,
                                         std::string& why_not) {
  const auto whole = model.decide(operations, why_not);
  if (!whole) return std::nullopt;
  if (whole->empty()) return LinearResult{};
  const std::vector<Endpoint> endpoints = endpoints_of(operations);
  std::vector<std::size_t> returns;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    if (endpoints[i].returns) returns.push_back(i);
  }
  // What was seen up to an endpoint, by index into `operations`.
  std::vector<std::size_t> seen;
  const auto up_to = [&](std::size_t last) {
    seen.clear();
    std::vector<bool> returned(operations.size(), false);
    for (std::size_t i = 0; i <= last; ++i) {
      if (endpoints[i].returns) {
        returned[endpoints[i].operation] = true;
      } else {
        seen.push_back(endpoints[i].operation);
      }
    }
    std::sort(seen.begin(), seen.end());
    std::vector<Operation> prefix;
    for (const std::size_t at : seen) {
      prefix.push_back(operations[at]);
      if (returned[at]) continue;
      prefix.back().unknown = true;
      prefix.back().ret = kForever;
    }
    return prefix;
  };
  std::string ignored;
  std::size_t good = 0, bad = returns.size();  // how many returns; all of `bad` have no order
  std::string_view kind = *whole;
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    const auto found = model.decide(up_to(returns[middle - 1]), ignored);
    if (!found) {  // it cannot say of a part: what is said of the whole stays right
      why_not = ignored;
      return std::nullopt;
    }
    if (found->empty()) {
      good = middle;
    } else {
      bad = middle;
      kind = *found;
    }
  }
  CHECKER_INVARIANT(bad > 0, "without a return there is an order");
  up_to(returns[bad - 1]);
  return LinearResult{.linearizable = false,
                      .kind = std::string(kind),
                      .operations = std::move(seen),
                      .stuck = endpoints[returns[bad - 1]].operation};
}

}  // namespace holdfast::checker
