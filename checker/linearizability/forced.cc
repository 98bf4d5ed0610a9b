#include "checker/linearizability/forced.h"

#include <algorithm>

#include "checker/planted.h"

namespace holdfast::checker {

namespace {

// By owner: it does one thing after another, and nothing after an unknown outcome.
std::vector<bool> sequential_owners(const std::vector<Operation>& operations) {
  const std::size_t owners = std::size_t{most_owner(operations)} + 1;
  std::vector<bool> sequential(owners, true);
  std::vector<const Operation*> last(owners, nullptr);
  for (const Operation& each : operations) {
    const Operation*& before = last[each.owner];
    if (before != nullptr) {
      const bool after = before->process == each.process ? before->ret <= each.call : before->ret < each.call;
      if (before->unknown || !after) sequential[each.owner] = false;
    }
    before = &each;
  }
  return sequential;
}

}  // namespace

std::vector<bool> forced_operations(const std::vector<Operation>& operations, const Model& model) {
  std::vector<bool> forced(operations.size(), false);
  const std::vector<bool> sequential =
      model.owners() ? sequential_owners(operations) : std::vector<bool>(most_owner(operations) + 1, false);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    forced[i] = (!each.unknown && model.observes(each)) ||
                (sequential[each.owner] &&
                 (model.frees(each) || (HOLDFAST_PLANTED(acquires_are_forced) && !each.unknown)));
  }
  return forced;
}

std::vector<std::size_t> possible_operations(const std::vector<Operation>& operations, const Model& model) {
  std::vector<bool> goes_on(std::size_t{most_owner(operations)} + 1, false);  // by owner: after this one
  std::vector<std::size_t> possible;
  possible.reserve(operations.size());
  // An operation that returns after the call of this one was called before it, or comes later in the list.
  std::vector<std::int64_t> latest(goes_on.size(), std::numeric_limits<std::int64_t>::min());
  std::vector<bool> never(operations.size(), false);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    never[i] = HOLDFAST_PLANTED(unknown_releases_are_left_out)
                   ? each.unknown
                   : each.unknown && model.owners() && model.burdens(each) && latest[each.owner] < each.call;
    latest[each.owner] = std::max(latest[each.owner], each.ret);
  }
  for (std::size_t i = operations.size(); i-- > 0;) {
    if (!never[i] || goes_on[operations[i].owner]) possible.push_back(i);
    goes_on[operations[i].owner] = true;
  }
  std::reverse(possible.begin(), possible.end());
  return possible;
}

}  // namespace holdfast::checker
