// The anonymous mutex in O(n log n): any process may release.
//
// At the return of an operation that is not legal now, the pending operation of the other kind that returns
// first goes before it: any other choice could be exchanged for that one. The proof is in models/README.md.
#include <map>
#include <queue>

#include "checker/linearizability/linear.h"

namespace holdfast::checker {

std::optional<LinearResult> linear_anonymous(const std::vector<Operation>& operations, std::string& why_not) {
  std::map<Symbol, std::int64_t> ends;
  for (const Operation& each : operations) {
    if (const auto end = ends.find(each.process); end != ends.end() && end->second == each.call) {
      why_not = "equal times within one process";
      return std::nullopt;
    }
    ends[each.process] = each.ret;
  }
  const auto later = [&](std::size_t a, std::size_t b) {
    return operations[a].ret != operations[b].ret ? operations[a].ret > operations[b].ret : a > b;
  };
  using Pending = std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)>;
  Pending pending[2] = {Pending(later), Pending(later)};  // releases, acquires
  std::vector<bool> done(operations.size(), false);
  bool locked = false;
  for (const Endpoint& endpoint : endpoints_of(operations)) {
    const std::size_t at = endpoint.operation;
    const bool acquires = operations[at].f == Function::acquire;
    if (!endpoint.returns) {
      pending[acquires ? 1 : 0].push(at);
      continue;
    }
    if (done[at]) continue;
    if (locked == acquires) {  // not legal now
      Pending& others = pending[acquires ? 0 : 1];
      while (!others.empty() && done[others.top()]) others.pop();
      if (others.empty()) {
        LinearResult result{.linearizable = false, .kind = acquires ? "double-hold" : "release-without-hold"};
        result.stuck = at;
        for (std::size_t i = 0; i < operations.size(); ++i) {
          if (operations[i].call < operations[at].ret) result.operations.push_back(i);
        }
        return result;
      }
      done[others.top()] = true;
      others.pop();
      locked = !locked;
    }
    done[at] = true;
    locked = acquires;
  }
  return LinearResult{};
}

}  // namespace holdfast::checker
