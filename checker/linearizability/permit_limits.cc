#include "checker/linearizability/permit_limits.h"

#include <algorithm>
#include <limits>

#include "checker/planted.h"

namespace holdfast::checker {

namespace {

constexpr std::int64_t kBefore = std::numeric_limits<std::int64_t>::min();

std::int64_t limit_of(const Operation& resize) { return resize.value.number_or(0); }

// The limits are those of `known`, one after another; can a resize that may happen at any time from `call` on
// ever set more than there is then?
bool makes_room(const Operation& unknown, std::int64_t permits, const std::vector<const Operation*>& known) {
  if (HOLDFAST_PLANTED(makes_no_room)) return false;
  std::int64_t before = permits;
  for (const Operation* each : known) {
    if (each->ret >= unknown.call) {
      if (limit_of(unknown) > before || limit_of(unknown) > limit_of(*each)) return true;
    }
    before = limit_of(*each);
  }
  return limit_of(unknown) > before;
}

struct LimitEvent {
  std::int64_t rank = 0;
  int order = 0;                      // at one time: rises, releases, acquires, falls
  std::int64_t taken = 0, limit = 0;  // limit: from here on
  std::size_t operation = 0;
};
constexpr int kRises = 0, kReleases = 1, kAcquires = 2, kFalls = 3;

// Whether the acquires that have returned fit below the limits: one sweep from the end to the beginning.
// `returned`: by operation.
bool fits(const std::vector<Operation>& operations, std::int64_t permits,
          const std::vector<LimitEvent>& events, const std::vector<bool>& returned) {
  std::vector<std::int64_t> limit_before(events.size());
  std::int64_t limit = permits, taken = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    limit_before[i] = limit;
    const LimitEvent& each = events[i];
    if (each.order == kRises || (each.order == kFalls && returned[each.operation])) limit = each.limit;
    if (each.order == kReleases || (each.order == kAcquires && returned[each.operation])) taken += each.taken;
  }
  std::vector<std::size_t> early;  // events of acquires that must happen before the next fall that we meet
  for (std::size_t i = events.size(); i-- > 0;) {
    const LimitEvent& each = events[i];
    if (each.order == kReleases) {
      taken -= each.taken;
    } else if (each.order == kAcquires && returned[each.operation]) {
      if (taken > limit_before[i]) {
        early.push_back(i);
      } else {
        taken -= each.taken;
      }
    } else if (each.order == kFalls && returned[each.operation] && !early.empty()) {
      for (const std::size_t acquire : early) {
        if (operations[events[acquire].operation].call > each.rank) return false;
      }
      if (taken > limit_before[i]) continue;
      for (const std::size_t acquire : early) taken -= events[acquire].taken;
      early.clear();
    }
  }
  return early.empty();
}

}  // namespace

std::optional<std::vector<PermitLimit>> permit_limits(const std::vector<Operation>& operations,
                                                      std::int64_t permits, std::string& why_not) {
  std::vector<const Operation*> known;
  std::vector<PermitLimit> limits;
  const ProcessOrder order = process_order(operations);
  std::int64_t until = kBefore, limit = permits;
  bool falls = false;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    if (each.f != Function::resize || each.unknown) continue;
    if (each.call <= until) return why_not = "numbers of permits that are set at one time", std::nullopt;
    const std::size_t before = order.previous[i];
    if (order.awaited[i] || (before != kNowhere && operations[before].ret == each.call)) {
      return why_not = "a process that sets the number of permits and goes on at one time", std::nullopt;
    }
    until = each.ret;
    falls = falls || limit_of(each) < limit;
    limits.push_back(
        {.from = limit_of(each) < limit ? each.ret : each.call, .value = limit_of(each), .operation = i});
    limit = limit_of(each);
    known.push_back(&each);
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& each = operations[i];
    if (each.f != Function::resize || !each.unknown || !makes_room(each, permits, known)) continue;
    // After all others it makes room from its call on. Before, there is a choice.
    if (each.call <= until) return why_not = "a number of permits that may have been set", std::nullopt;
    if (limit_of(each) <= limit) continue;
    limits.push_back({.from = each.call, .value = limit_of(each), .operation = i});
    limit = limit_of(each);
  }
  return limits;
}

std::optional<std::size_t> stuck_below_limits(const std::vector<Operation>& operations, std::int64_t permits,
                                              const std::vector<PermitLimit>& limits,
                                              std::vector<PermitStep> steps) {
  std::vector<LimitEvent> events;
  events.reserve(limits.size() + steps.size());
  std::int64_t before = permits;
  for (const PermitLimit& each : limits) {
    events.push_back({.rank = each.from,
                      .order = each.value < before ? kFalls : kRises,
                      .limit = each.value,
                      .operation = each.operation});
    before = each.value;
  }
  for (const PermitStep& each : steps) {
    events.push_back({.rank = each.rank,
                      .order = each.taken < 0 ? kReleases : kAcquires,
                      .taken = each.taken,
                      .operation = each.operation});
  }
  std::stable_sort(events.begin(), events.end(), [](const LimitEvent& a, const LimitEvent& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.order < b.order;
  });
  // The first return that does not fit: all before it do.
  std::vector<std::size_t> returns;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!operations[i].unknown) returns.push_back(i);
  }
  std::stable_sort(returns.begin(), returns.end(),
                   [&](std::size_t a, std::size_t b) { return operations[a].ret < operations[b].ret; });
  const auto first_fit = [&](std::size_t count) {
    std::vector<bool> returned(operations.size(), false);
    for (std::size_t i = 0; i < count; ++i) returned[returns[i]] = true;
    return fits(operations, permits, events, returned);
  };
  if (first_fit(returns.size())) return std::nullopt;
  std::size_t good = 0, bad = returns.size();
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (first_fit(middle) ? good : bad) = middle;
  }
  return returns[bad - 1];
}

}  // namespace holdfast::checker
