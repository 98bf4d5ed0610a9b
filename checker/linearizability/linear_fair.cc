// The fair lock in O(n log n): it is a mutex, and it grants in the order in which owners can have joined the
// queue. The proof is in models/README.md.
#include <algorithm>

#include "checker/linearizability/linear.h"

namespace holdfast::checker {

namespace {

struct QueuedGrant {
  std::size_t acquire, queue;
  std::int64_t from, to = kForever;
};

}  // namespace

std::optional<LinearResult> linear_fair(const std::vector<Operation>& operations, std::string& why_not) {
  std::vector<std::size_t> plain;  // acquires and releases
  std::vector<Operation> lock;
  std::vector<QueuedGrant> grants;
  Symbol most = 0;
  for (const Operation& each : operations) most = std::max(most, each.owner);
  std::vector<std::size_t> queued(std::size_t{most} + 1, kNowhere), held(std::size_t{most} + 1, kNowhere);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    std::size_t& waits = queued[each.owner];
    if (each.f == Function::queue) {
      if (waits != kNowhere) return why_not = "an owner that waits twice", std::nullopt;
      waits = i;
      continue;
    }
    if (each.f == Function::acquire && (waits == kNowhere || operations[waits].process != each.process)) {
      return why_not = "a grant without a place in the queue", std::nullopt;
    }
    if (each.f == Function::lost) {
      if (!each.unknown) waits = kNowhere;
      continue;
    }
    if (each.f == Function::release && waits != kNowhere) {
      return why_not = "an owner that releases while it waits", std::nullopt;
    }
    plain.push_back(i);
    lock.push_back(each);
    if (each.f == Function::release) {
      if (held[each.owner] != kNowhere) grants[held[each.owner]].to = each.call;
      held[each.owner] = kNowhere;
    } else if (!each.unknown) {
      held[each.owner] = grants.size();
      grants.push_back({.acquire = i, .queue = waits, .from = each.ret});
      waits = kNowhere;
    }
  }
  for (const std::size_t waits : queued) {  // a place that is never left blocks everybody behind it
    if (waits == kNowhere || operations[waits].unknown) continue;
    const bool leaves =
        std::any_of(operations.begin() + static_cast<std::ptrdiff_t>(waits), operations.end(),
                    [&](const Operation& each) {
                      return each.f == Function::lost && each.owner == operations[waits].owner;
                    });
    if (!leaves) return why_not = "a place in the queue that nobody leaves", std::nullopt;
  }
  std::optional<LinearResult> result = linear_lock(lock, false, false, false, 0, why_not);
  if (!result) return result;
  if (!result->linearizable) {
    for (std::size_t& at : result->operations) at = plain[at];
    result->stuck = plain[result->stuck];
    if (result->holder) result->holder = plain[*result->holder];
    std::vector<std::size_t> places;
    for (const QueuedGrant& grant : grants) {
      if (std::binary_search(result->operations.begin(), result->operations.end(), grant.acquire)) {
        places.push_back(grant.queue);
      }
    }
    result->operations.insert(result->operations.end(), places.begin(), places.end());
    std::sort(result->operations.begin(), result->operations.end());
    return result;
  }
  const auto empty = [](const QueuedGrant& grant) { return grant.from >= grant.to; };
  std::stable_sort(grants.begin(), grants.end(), [&](const QueuedGrant& a, const QueuedGrant& b) {
    return a.from != b.from ? a.from < b.from : empty(a) && !empty(b);
  });
  const QueuedGrant* latest = nullptr;  // of the grants so far, the one that joined last
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const QueuedGrant& grant = grants[i];
    if (i > 0 && grant.from == grants[i - 1].from && empty(grant)) {
      return why_not = "holds without extent at equal times", std::nullopt;
    }
    if (latest != nullptr && operations[grant.queue].ret < operations[latest->queue].call) {
      result = LinearResult{.linearizable = false,
                            .kind = "overtaken",
                            .operations = {latest->queue, latest->acquire, grant.queue, grant.acquire},
                            .stuck = grant.acquire,
                            .holder = latest->acquire};
      for (std::size_t at = 0; at < operations.size(); ++at) {  // the witness has the releases of both holds
        const Operation& each = operations[at];
        for (const QueuedGrant* of : {latest, &grant}) {
          if (each.f == Function::release && each.owner == operations[of->acquire].owner &&
              each.call == of->to) {
            result->operations.push_back(at);
          }
        }
      }
      std::sort(result->operations.begin(), result->operations.end());
      return result;
    }
    if (latest == nullptr || operations[grant.queue].call > operations[latest->queue].call) latest = &grant;
  }
  return result;
}

}  // namespace holdfast::checker
