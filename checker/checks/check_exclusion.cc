// mutual-exclusion and lease-exclusion: the same sweep, over holds and over claims.
//
// Claims that conflict are a double grant: the service promised one lock to two owners. Holds that conflict
// while their claims do not are an overrun: a holder outlived its lease.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/holds/exclusion.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

constexpr std::size_t kWitnesses = 16;

Span span_of(const Hold& hold, std::size_t number, bool claim) {
  return {.from_ns = hold.from_ns,
          .to_ns = claim ? std::max(hold.from_ns, hold.claim_to_ns()) : hold.to_ns,
          .key = hold.key,
          .owner = hold.owner,
          .permits = hold.permits,
          .shared = hold.shared,
          .number = number};
}

bool claims_conflict(const Hold& a, const Hold& b, const ExclusionRules& rules) {
  if (!a.has_claim() || !b.has_claim() || a.expired_at_return() || b.expired_at_return()) return false;
  ExclusionRules pairwise = rules;
  pairwise.permits = 0;
  return conflict(span_of(a, 0, true), span_of(b, 1, true), pairwise);
}

void add(std::vector<std::size_t>& events, std::size_t position) {
  if (position != kNowhere) events.push_back(position);
}

// Adds the fewest renewals that extend the claim of `hold` beyond `until_ns`.
void add_renewals(const History& history, const Hold& hold, std::int64_t until_ns,
                  std::vector<std::size_t>& events) {
  std::int64_t claimed_ns = hold.granted_until_ns;
  std::size_t next = 0;
  while (claimed_ns != kAbsent && claimed_ns <= until_ns) {
    std::size_t best = kNowhere;
    while (next < hold.renewals.size() && history.events()[hold.renewals[next]].time_ns <= claimed_ns) {
      best = hold.renewals[next++];  // each renewal of a hold extends its claim
    }
    if (best == kNowhere) return;
    events.push_back(best);
    claimed_ns = history.events()[best].valid_until_ns;
  }
}

std::string end_of(const Wording& words, const Hold& hold) {
  switch (hold.end) {
    case HoldEnd::released: return "released it only at " + words.time(hold.to_ns);
    case HoldEnd::told_lost: return "was told of its loss only at " + words.time(hold.to_ns);
    case HoldEnd::crashed: return "held it until it died at " + words.time(hold.to_ns);
    case HoldEnd::never: break;
  }
  return "never released it";
}

Witness witness_of(const History& history, const std::vector<Hold>& holds, const Conflict& found, bool claims,
                   const ExclusionRules& rules, std::int64_t permits) {
  const Wording words(history);
  const Hold& second = holds[found.number];
  const Hold& first = found.with.empty() ? second : holds[found.with.front()];
  Witness witness;
  witness.key = words.text(second.key);
  witness.acquires = std::pair(first.acquired, second.acquired);
  witness.from_ns = found.from_ns;
  witness.to_ns = found.to_ns;
  std::vector<std::size_t> involved = found.with;
  involved.push_back(found.number);
  for (const std::size_t number : involved) {
    const Hold& hold = holds[number];
    add(witness.events, hold.invoked);
    add(witness.events, hold.acquired);
    if (claims) add_renewals(history, hold, found.from_ns, witness.events);
    add(witness.events, hold.ended);
  }
  std::sort(witness.events.begin(), witness.events.end());
  witness.events.erase(std::unique(witness.events.begin(), witness.events.end()), witness.events.end());

  const std::string from = words.time(found.from_ns), to = words.time(found.to_ns);
  const bool doubled = claims || claims_conflict(first, second, rules);
  if (permits > 0) {
    std::int64_t taken = 0;
    std::string owners;
    for (std::size_t i = 0; i < involved.size(); ++i) {
      taken += holds[involved[i]].permits;
      owners += (i == 0 ? "" : i + 1 == involved.size() ? " and " : ", ") + words.owner(holds[involved[i]]);
    }
    witness.kind = doubled ? "double-grant" : first.has_claim() && second.has_claim() ? "overrun" : "overlap";
    witness.why = fmt::format("{} hold{} {} of the {} permits of {} from {} to {}.", owners,
                              involved.size() == 1 ? "s" : "", taken, permits, witness.key, from, to);
  } else if (doubled) {
    witness.kind = "double-grant";
    witness.why = fmt::format(
        "{} was granted to {} while it was promised to {} until {}: both own it from {} to {}.", witness.key,
        words.grant(second), words.grant(first), words.time(first.valid_until_ns), from, to);
  } else if (first.has_claim() && second.has_claim()) {
    witness.kind = "overrun";
    witness.why =
        first.claim_to_ns() <= second.from_ns
            ? fmt::format("The lease of {} on {} ended at {}, but it {}; meanwhile {} was granted it.",
                          words.grant(first), witness.key, words.time(first.valid_until_ns),
                          end_of(words, first), words.grant(second))
            : fmt::format("The lock returned {} to {} when its lease, until {}, was over; {} still held it.",
                          witness.key, words.grant(second), words.time(second.valid_until_ns),
                          words.grant(first));
  } else {
    witness.kind = "overlap";
    witness.why = fmt::format("{} was granted to {} while {} held it and {}.", witness.key,
                              words.grant(second), words.grant(first), end_of(words, first));
  }
  return witness;
}

// How many permits each key had when. A change counts from its invocation on, and what was there before it
// until its completion: a grant that both could explain is legal.
class PermitLimits {
 public:
  PermitLimits(const History& history, std::int64_t initial) : initial_(initial) {
    const auto& events = history.events();
    if (std::none_of(events.begin(), events.end(), [](const Event& e) { return e.f == Function::resize; })) {
      return;
    }
    const Pairs pairs = pair_events(history);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.f != Function::resize || event.type == EventType::fail) continue;
      const std::size_t other = pairs.other[i];
      if (event.type != EventType::invoke && other != kNowhere) continue;  // told by its invocation
      const bool known =
          event.type != EventType::invoke || (other != kNowhere && events[other].type == EventType::ok);
      if (other != kNowhere && events[other].type == EventType::fail) continue;
      Value value = event.value;
      if (value.empty() && other != kNowhere) value = events[other].value;
      if (!value.is_number()) continue;
      const std::int64_t done_ns = other == kNowhere ? event.time_ns : events[other].time_ns;
      std::vector<Limit>& limits = of_key_[HOLDFAST_PLANTED(changes_of_any_key) ? 0 : event.key];
      if (limits.empty()) {
        // What was there before the first change is what the context says, else nobody knows.
        limits.push_back({std::numeric_limits<std::int64_t>::min(), kForever,
                          initial_ > 0 ? initial_ : std::max<std::int64_t>(value.number(), 1), true});
      }
      if (known) {
        for (Limit& limit : limits)
          limit.to_ns = limit.known || HOLDFAST_PLANTED(later_change_closes_the_unknown)
                            ? std::min(limit.to_ns, done_ns)
                            : kForever;
      }
      limits.push_back({event.time_ns, kForever, value.number(), known});
    }
  }

  // The greatest number at any moment of [from_ns, to_ns]; 0: the key is no semaphore.
  std::int64_t most(Symbol key, std::int64_t from_ns, std::int64_t to_ns) const {
    const auto found = of_key_.find(HOLDFAST_PLANTED(changes_of_any_key) ? 0 : key);
    if (found == of_key_.end()) return initial_;
    std::int64_t most = 1;
    for (const Limit& limit : found->second) {
      if (limit.from_ns <= to_ns && limit.to_ns >= from_ns) most = std::max(most, limit.permits);
    }
    return most;
  }

 private:
  struct Limit {
    std::int64_t from_ns, to_ns, permits;
    bool known = true;  // false: of unknown outcome, so it may show at any time from then on
  };
  const std::int64_t initial_;
  std::map<Symbol, std::vector<Limit>> of_key_;
};

void limit(const History& history, const std::vector<Hold>& holds, std::vector<Span>& spans,
           const CheckContext& context) {
  const PermitLimits limits(history, context.permits);
  for (Span& span : spans) {
    const Hold& hold = holds[span.number];
    const std::int64_t asked_ns =
        hold.invoked == kNowhere ? hold.from_ns : history.events()[hold.invoked].time_ns;
    span.limit = limits.most(span.key, HOLDFAST_PLANTED(limit_at_the_grant_alone) ? hold.from_ns : asked_ns,
                             hold.from_ns);
  }
}

Verdict judge(const History& history, const std::vector<Hold>& holds, std::vector<Span>& spans, bool claims,
              const CheckContext& context) {
  const ExclusionRules rules{.reentrant = context.reentrant, .permits = context.permits};
  limit(history, holds, spans, context);
  std::vector<std::int64_t> permits(holds.size(), rules.permits);  // by hold
  for (const Span& span : spans) permits[span.number] = std::max(span.limit, rules.permits);
  const ExclusionResult found = sweep_exclusion(spans, rules, kWitnesses);
  Verdict verdict;
  verdict.outcome = found.count > 0 ? Outcome::violated : Outcome::holds;
  verdict.violations = found.count;
  for (const Conflict& each : found.conflicts) {
    verdict.witnesses.push_back(witness_of(history, holds, each, claims, rules, permits[each.number]));
  }
  if (found.count > 0) {
    verdict.reason = verdict.witnesses.front().why;
    verdict.out_of_bounds = !context.clocks_within_bounds;
  }
  return verdict;
}

// A release that succeeded though its owner had nothing to release.
void add_unheld(const History& history, const Pairs& pairs, const Holds& found, Verdict& verdict) {
  const Wording words(history);
  for (const std::size_t position : found.unheld) {
    const Event& event = history.events()[position];
    ++verdict.violations;
    if (verdict.witnesses.size() >= kWitnesses) continue;
    Witness witness;
    witness.kind = "release-without-hold";
    witness.key = words.text(event.key);
    witness.from_ns = witness.to_ns = event.time_ns;
    add(witness.events, pairs.other[position]);
    add(witness.events, position);
    witness.why = fmt::format("{} released {} successfully at {} without holding it.",
                              words.text(event.owner != 0 ? event.owner : event.process), witness.key,
                              words.time(event.time_ns));
    verdict.witnesses.push_back(std::move(witness));
  }
  if (found.unheld.empty()) return;
  std::stable_sort(verdict.witnesses.begin(), verdict.witnesses.end(),
                   [](const Witness& a, const Witness& b) { return a.from_ns < b.from_ns; });
  verdict.outcome = Outcome::violated;
  verdict.reason = verdict.witnesses.front().why;
  verdict.out_of_bounds = !verdict.witnesses.empty() && verdict.out_of_bounds;
}

class MutualExclusion : public Check {
 public:
  std::string_view name() const override { return "mutual-exclusion"; }
  std::vector<std::string_view> kinds() const override {
    return {"double-grant", "overrun", "overlap", "release-without-hold"};
  }
  std::string_view about() const override {
    return "no two owners hold one key at the same time, and nobody releases what it does not hold";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    const Pairs pairs = pair_events(history);
    const Holds found = find_holds(history, pairs, {.reentrant = context.reentrant});
    const std::vector<Hold>& holds = found.holds;
    std::vector<Span> spans;
    spans.reserve(holds.size());
    for (std::size_t i = 0; i < holds.size(); ++i) spans.push_back(span_of(holds[i], i, false));
    Verdict verdict = judge(history, holds, spans, false, context);
    add_unheld(history, pairs, found, verdict);
    if (verdict.outcome != Outcome::holds) return verdict;
    if (holds.empty()) {
      verdict.outcome = Outcome::unknown;
      verdict.reason = "the history has no grants";
    } else {
      verdict.reason = fmt::format("{} holds, no two overlap", holds.size());
    }
    return verdict;
  }
};

class LeaseExclusion : public Check {
 public:
  std::string_view name() const override { return "lease-exclusion"; }
  std::vector<std::string_view> kinds() const override { return {"double-grant"}; }
  std::string_view about() const override {
    return "the lock service promises no key to two owners at the same time (else: a double grant)";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    const std::vector<Hold> holds = build_holds(history, context.reentrant);
    std::vector<Span> spans, strict;
    std::size_t expired = 0, silent = 0;
    for (std::size_t i = 0; i < holds.size(); ++i) {
      strict.push_back(span_of(holds[i], i, false));
      if (!holds[i].has_claim()) {
        ++silent;
      } else if (holds[i].expired_at_return() && !HOLDFAST_PLANTED(expired_grants_compete)) {
        ++expired;
      } else {
        spans.push_back(span_of(holds[i], i, true));
      }
    }
    const std::size_t claims = spans.size();
    Verdict verdict = judge(history, holds, spans, true, context);
    if (verdict.outcome == Outcome::violated) return verdict;
    verdict.outcome = Outcome::unknown;
    if (holds.empty()) {
      verdict.reason = "the history has no grants";
    } else if (silent > 0 && !HOLDFAST_PLANTED(silent_grants_hold)) {
      verdict.reason = silent == holds.size()
                           ? "the history has no valid_until"
                           : fmt::format("{} of {} grants have no valid_until", silent, holds.size());
    } else if (const std::string doubt = doubted_unit(history, holds); !doubt.empty()) {
      verdict.reason = doubt;
    } else if (claims == 0) {
      verdict.reason = fmt::format(
          "the lock returned {} claims, each of them over: there was nothing to compare", expired);
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format("{} claims, no two overlap", claims);
      limit(history, holds, strict, context);
      const ExclusionRules rules{.reentrant = context.reentrant, .permits = context.permits};
      if (const auto overruns = sweep_exclusion(strict, rules, 1).count; overruns > 0) {
        verdict.reason +=
            fmt::format("; {} overrun{} (a holder outlived its lease)", overruns, overruns == 1 ? "" : "s");
      }
      if (expired > 0) verdict.reason += fmt::format("; the lock returned an expired lock {} times", expired);
    }
    return verdict;
  }
};

}  // namespace

const Check& mutual_exclusion_check() {
  static const MutualExclusion check;
  return check;
}
const Check& lease_exclusion_check() {
  static const LeaseExclusion check;
  return check;
}

}  // namespace holdfast::checker
