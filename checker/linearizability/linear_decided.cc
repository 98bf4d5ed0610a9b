// From whether there is an order to the completion that no order explains: the first returns have one, or all
// up to the stuck one have none.
//
// Where a process goes on at the time of its return, its operations have an order that their times do not
// tell. Without that order more is allowed, and with the same order between all processes less is: if either
// decides, that is right.
#include <algorithm>

#include "checker/invariant.h"
#include "checker/linearizability/linear.h"

namespace holdfast::checker {

namespace {

// True: a process invokes an operation at the time at which the one before it returns, or before.
bool processes_overlap(const std::vector<Operation>& operations) {
  const std::vector<std::size_t> previous = process_order(operations).previous;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (previous[i] != kNowhere && operations[previous[i]].ret >= operations[i].call) return true;
  }
  return false;
}

// What returns when another operation is invoked comes before it, whosever they are.
std::vector<Operation> with_ties_in_order(std::vector<Operation> operations) {
  for (Operation& each : operations) {
    each.call = 2 * each.call + 1;
    if (each.ret != kForever) each.ret = std::max(2 * each.ret, each.call);
  }
  return operations;
}

}  // namespace

std::optional<std::string_view> decide_linear(const Model& model, const std::vector<Operation>& operations,
                                              std::string& why_not) {
  const auto found = model.decide(operations, why_not);
  if (!found || !found->empty() || !processes_overlap(operations)) return found;
  const std::vector<Operation> ordered = with_ties_in_order(operations);
  if (!processes_overlap(ordered)) {
    const auto strictly = model.decide(ordered, why_not);
    if (!strictly || strictly->empty()) return strictly;
  }
  why_not = "a process goes on at the time of its return";
  return std::nullopt;
}

std::optional<LinearResult> check_linear(const Model& model, const std::vector<Operation>& operations,
                                         std::string& why_not) {
  const auto whole = decide_linear(model, operations, why_not);
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
    const auto found = decide_linear(model, up_to(returns[middle - 1]), ignored);
    if (!found) {  // the search decides all of it
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
