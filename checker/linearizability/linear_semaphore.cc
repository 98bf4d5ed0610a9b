// The semaphore in O(n log n): permits are taken at least from the completion of an acquire to the invocation
// of a release, and their sum must not exceed the limit. The proof, also for a rising limit, is in
// models/README.md.
#include <algorithm>

#include "checker/invariant.h"

#include "checker/linearizability/linear.h"
#include "checker/linearizability/permit_limits.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

struct PermitChange {
  std::int64_t rank = 0, taken = 0, limit = 0;  // taken, limit: by how much they change
  std::size_t operation = 0;
  int order() const { return limit != 0 ? 0 : taken < 0 ? 1 : 2; }  // at one time: limits, releases, acquires
};

}  // namespace

std::optional<LinearResult> linear_semaphore(const std::vector<Operation>& operations, std::int64_t permits,
                                             std::string& why_not) {
  std::vector<PermitChange> changes;
  const std::optional<std::vector<PermitLimit>> limits = permit_limits(operations, permits, why_not);
  if (!limits) return std::nullopt;
  bool falls = false;
  std::int64_t so_far = permits;
  for (const PermitLimit& each : *limits) {
    falls = falls || each.value < so_far;
    changes.push_back(
        {.rank = each.from, .taken = 0, .limit = each.value - so_far, .operation = each.operation});
    so_far = each.value;
  }
  std::vector<Operation> lock;
  Symbol most = 0;
  for (const Operation& each : operations) {
    most = std::max(most, each.owner);
    if (each.f != Function::resize) lock.push_back(each);
  }
  if (!owners_are_sequential(lock)) {
    return why_not = "an owner goes on after an unknown outcome", std::nullopt;
  }
  std::vector<std::int64_t> own(std::size_t{most} + 1, 0);
  // By owner: the time of its last change. At equal times releases may come first only if they are another
  // owner's.
  std::vector<std::int64_t> last(std::size_t{most} + 1, std::numeric_limits<std::int64_t>::min());
  LinearResult result;
  const auto change = [&](std::int64_t rank, std::int64_t taken, std::size_t at) {
    std::int64_t& mine = last[operations[at].owner];
    if (mine == rank) return false;
    mine = rank;
    changes.push_back({.rank = rank, .taken = taken, .limit = 0, .operation = at});
    return true;
  };
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    const std::int64_t count = each.permits;
    bool free = true;
    if (each.f == Function::resize) {
      free = last[each.owner] != each.call;
      last[each.owner] = each.call;
    } else if (each.f == Function::acquire) {
      if (each.unknown) continue;
      own[each.owner] += count;
      free = change(each.ret, count, i);
    } else if (own[each.owner] >= count) {
      own[each.owner] -= count;
      free = change(HOLDFAST_PLANTED(permits_back_with_the_answer) && !each.unknown ? each.ret : each.call,
                    -count, i);
    } else if (!each.unknown && !HOLDFAST_PLANTED(permits_from_nobody) &&
               (result.linearizable || each.ret < operations[result.stuck].ret)) {
      result = {.linearizable = false, .kind = "release-without-hold", .operations = {}, .stuck = i};
      for (std::size_t past = 0; past <= i; ++past) {
        if (operations[past].owner == each.owner && operations[past].f != Function::resize) {
          result.operations.push_back(past);
        }
      }
    }
    if (!free) return why_not = "an owner that gives back and takes at one time", std::nullopt;
  }
  if (falls) {
    std::vector<PermitStep> steps;
    for (const PermitChange& each : changes) {
      if (each.taken != 0)
        steps.push_back({.rank = each.rank, .taken = each.taken, .operation = each.operation});
    }
    const std::optional<std::size_t> stuck =
        stuck_below_limits(operations, permits, *limits, std::move(steps));
    if (stuck && (result.linearizable || operations[*stuck].ret < operations[result.stuck].ret)) {
      result = {.linearizable = false, .kind = "too-many-permits", .operations = {}, .stuck = *stuck};
      for (std::size_t i = 0; i < operations.size(); ++i) {
        if (operations[i].call <= operations[*stuck].ret) result.operations.push_back(i);
      }
    }
    return result;
  }
  std::sort(changes.begin(), changes.end(), [](const PermitChange& a, const PermitChange& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.order() != b.order() ? a.order() < b.order() : a.operation < b.operation;
  });
  std::int64_t taken = 0, limit = permits;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    taken += changes[i].taken;
    CHECKER_INVARIANT(taken >= 0, "no owner gives back more than it took");
    limit += changes[i].limit;
    if (taken <= limit || changes[i].taken <= 0) continue;
    const Operation& blamed = operations[changes[i].operation];
    if (result.linearizable || blamed.ret < operations[result.stuck].ret) {
      result = {
          .linearizable = false, .kind = "too-many-permits", .operations = {}, .stuck = changes[i].operation};
      for (std::size_t past = 0; past <= i; ++past) result.operations.push_back(changes[past].operation);
      std::sort(result.operations.begin(), result.operations.end());
    }
    break;
  }
  return result;
}

}  // namespace holdfast::checker
