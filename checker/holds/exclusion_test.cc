// The sweep against the definition, which compares every pair, on small histories with many equal times.
#include "checker/holds/exclusion.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "checker/checks/check.h"
#include "checker/holds/holds.h"

namespace holdfast::checker {
namespace {

struct Drawn {
  std::vector<Span> spans;
  ExclusionRules rules;
};

// Few different times, so that most of them are equal; two keys, three owners.
std::vector<Span> draw_spans(bool modes, std::uint32_t most_permits) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 9);
  std::vector<Span> spans;
  for (std::size_t i = 0; i < count; ++i) {
    const auto from = *rc::gen::inRange<std::int64_t>(0, 6);
    const auto length = *rc::gen::inRange<std::int64_t>(0, 4);
    spans.push_back({.from_ns = from,
                     .to_ns = from + length,
                     .key = *rc::gen::inRange<Symbol>(1, 3),
                     .owner = *rc::gen::inRange<Symbol>(1, 4),
                     .permits = *rc::gen::inRange<std::uint32_t>(1, most_permits + 1),
                     .shared = modes && *rc::gen::arbitrary<bool>(),
                     .number = i});
  }
  return spans;
}

bool comes_before(const Span& a, const Span& b) {
  const bool a_full = a.from_ns < a.to_ns, b_full = b.from_ns < b.to_ns;
  return std::tie(a.from_ns, a_full, a.number) < std::tie(b.from_ns, b_full, b.number);
}

std::set<std::size_t> numbers_of(const ExclusionResult& result) {
  std::set<std::size_t> numbers;
  for (const Conflict& found : result.conflicts) numbers.insert(found.number);
  return numbers;
}

TEST(ExclusionSweep, AgreesWithEveryPair) {
  const bool ok = rc::check("pairs", [] {
    const bool reentrant = *rc::gen::arbitrary<bool>();
    const ExclusionRules rules{.reentrant = reentrant, .permits = 0};
    const std::vector<Span> spans = draw_spans(true, 1);
    std::set<std::size_t> expected;
    for (const Span& b : spans) {
      for (const Span& a : spans) {
        if (&a != &b && comes_before(a, b) && conflict(a, b, rules)) expected.insert(b.number);
      }
    }
    std::vector<Span> sorted = spans;
    const ExclusionResult result = sweep_exclusion(sorted, rules);
    RC_ASSERT(numbers_of(result) == expected);
    RC_ASSERT(result.count == expected.size());
    std::int64_t last = 0;
    for (const Conflict& found : result.conflicts) {
      RC_ASSERT(found.with.size() == 1U);
      RC_ASSERT(conflict(spans[found.number], spans[found.with[0]], rules));
      RC_ASSERT(found.from_ns >= last);
      last = found.from_ns;
    }
    // If any pair conflicts, the sweep reports something.
    bool any = false;
    for (const Span& a : spans) {
      for (const Span& b : spans) any = any || (&a != &b && conflict(a, b, rules));
    }
    RC_ASSERT(any == (result.count > 0));
  });
  EXPECT_TRUE(ok);
}

// A span is over the limit when the spans that conflict with it and began before it, all there at one moment
// with it, take more than is left. Moments: just after each beginning (times doubled: odd ones lie between).
TEST(ExclusionSweep, AgreesWithCountingPermits) {
  const bool ok = rc::check("permits", [] {
    const auto permits = *rc::gen::inRange<std::int64_t>(1, 5);
    const std::vector<Span> spans = draw_spans(false, 3);
    std::set<std::size_t> expected;
    for (const Span& span : spans) {
      std::int64_t taken = span.permits;
      for (const Span& other : spans) {
        if (&other == &span || other.key != span.key || !comes_before(other, span)) continue;
        if (other.from_ns < span.to_ns && span.from_ns < other.to_ns) taken += other.permits;
      }
      if (taken > permits) expected.insert(span.number);
    }
    std::vector<Span> sorted = spans;
    const ExclusionResult result = sweep_exclusion(sorted, {.permits = permits});
    RC_ASSERT(numbers_of(result) == expected);
    for (const Conflict& found : result.conflicts) {
      std::int64_t taken = spans[found.number].permits;
      for (const std::size_t with : found.with) taken += spans[with].permits;
      RC_ASSERT(taken > permits);
    }
  });
  EXPECT_TRUE(ok);
}

TEST(ExclusionSweep, KeepsTheEarliest) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto time = static_cast<std::int64_t>((i * 7919) % 1000);
    spans.push_back(
        {.from_ns = time, .to_ns = 5000, .key = static_cast<Symbol>(i % 3), .owner = 1, .number = i});
  }
  std::vector<Span> again = spans;
  const ExclusionResult all = sweep_exclusion(spans, {});
  const ExclusionResult few = sweep_exclusion(again, {}, 5);
  EXPECT_EQ(all.count, few.count);
  ASSERT_EQ(few.conflicts.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(all.conflicts[i].number, few.conflicts[i].number);
}

// Both checks against the definitions of holds and claims, which are read off the drawn history.
TEST(ExclusionChecks, AgreeWithTheDefinition) {
  const bool ok = rc::check("histories", [] {
    const bool reentrant = *rc::gen::arbitrary<bool>();
    History history;
    struct Each {
      Symbol key, owner;
      std::int64_t from, to, claim;
      bool read;
    };
    std::vector<Each> all;
    struct Told {
      std::int64_t time;
      std::size_t order;
      Event event;
    };
    std::vector<Told> told;
    const auto count = *rc::gen::inRange<std::size_t>(0, 8);
    for (std::size_t i = 0; i < count; ++i) {
      const auto client = std::to_string(*rc::gen::inRange(1, 4));
      Each each{.key = history.intern("k" + std::to_string(*rc::gen::inRange(0, 2))),
                .owner = history.intern("c" + client),
                .from = *rc::gen::inRange<std::int64_t>(0, 6),
                .to = 0,
                .claim = 0,
                .read = *rc::gen::inRange(0, 4) == 0};
      each.to = each.from + *rc::gen::inRange<std::int64_t>(0, 4);
      const auto lease = *rc::gen::inRange<std::int64_t>(0, 4);
      const std::int64_t valid = each.from + lease;
      each.claim = std::min(valid, each.to);
      Event ok_event;
      ok_event.type = EventType::ok;
      ok_event.f = Function::acquire;
      ok_event.process = history.intern("c" + client + "/" + std::to_string(i));
      ok_event.owner = each.owner;
      ok_event.key = each.key;
      ok_event.id = history.intern("a" + std::to_string(i));
      ok_event.mode = each.read ? history.intern("read") : 0;
      ok_event.time_ns = each.from;
      ok_event.valid_until_ns = valid;
      told.push_back({each.from, i, ok_event});
      Event release = ok_event;
      release.type = EventType::invoke;
      release.f = Function::release;
      release.time_ns = each.to;
      release.valid_until_ns = kAbsent;
      told.push_back({each.to, i + 100, release});
      if (lease == 0) each.claim = -1;  // expired when it was returned: no claim
      all.push_back(each);
    }
    std::stable_sort(told.begin(), told.end(), [](const Told& a, const Told& b) {
      return std::tie(a.time, a.order) < std::tie(b.time, b.order);
    });
    for (const Told& each : told) history.append(each.event);
    bool holds_conflict = false, claims_conflict = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Each &a = all[i], &b = all[j];
        if (a.key != b.key || (a.read && b.read)) continue;
        if (a.owner == b.owner && (reentrant || a.read != b.read)) continue;
        if (a.from < b.to && b.from < a.to) holds_conflict = true;
        if (a.claim >= 0 && b.claim >= 0 && a.from < b.claim && b.from < a.claim) claims_conflict = true;
      }
    }
    CheckContext context;
    context.reentrant = reentrant;
    const Verdict strict = find_check("mutual-exclusion")->run(history, context);
    const Verdict lease = find_check("lease-exclusion")->run(history, context);
    RC_ASSERT((strict.outcome == Outcome::violated) == holds_conflict);
    RC_ASSERT((lease.outcome == Outcome::violated) == claims_conflict);
    for (const Verdict* verdict : {&strict, &lease}) {
      for (const Witness& witness : verdict->witnesses) {  // its events alone are violated as well
        const History part = history.subset(witness.events);
        const Check* check = find_check(verdict == &strict ? "mutual-exclusion" : "lease-exclusion");
        RC_ASSERT(check->run(part, context).outcome == Outcome::violated);
      }
    }
  });
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace holdfast::checker
