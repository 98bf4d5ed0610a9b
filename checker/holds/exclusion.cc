#include "checker/holds/exclusion.h"

#include <algorithm>

#include "checker/invariant.h"
#include "checker/planted.h"

namespace holdfast::checker {

bool conflict(const Span& a, const Span& b, const ExclusionRules& rules) {
  if (HOLDFAST_PLANTED(touching_holds_conflict) && a.key == b.key && a.owner != b.owner &&
      !(a.shared && b.shared) && a.to_ns == b.from_ns)
    return true;
  if (a.key != b.key || !(a.from_ns < b.to_ns && b.from_ns < a.to_ns)) return false;
  if (a.shared && b.shared && !HOLDFAST_PLANTED(readers_conflict)) return false;
  if (a.owner != b.owner) return true;
  return !HOLDFAST_PLANTED(an_owner_never_conflicts) && !rules.reentrant &&
         a.shared == b.shared;  // a writer may also read
}

namespace {

// The order of the sweep: by start. At equal starts empty spans come first, so that every span before an
// empty one that it overlaps began strictly earlier; then those of the lowest limit, which have room only if
// they come before the others.
bool before(const Span& a, const Span& b) {
  if (a.key != b.key) return a.key < b.key;
  if (a.from_ns != b.from_ns) return a.from_ns < b.from_ns;
  const bool a_empty = a.from_ns == a.to_ns, b_empty = b.from_ns == b.to_ns;
  if (a_empty != b_empty) return a_empty;
  if (a.limit != b.limit && !HOLDFAST_PLANTED(limits_in_any_order)) return a.limit < b.limit;
  return a.number < b.number;
}

// Of the spans so far: the one that ends last, and the one that ends last among those of other owners.
struct LastEnds {
  const Span* last = nullptr;
  const Span* other = nullptr;  // owner differs from last's

  void add(const Span& span) {
    if (last == nullptr || span.to_ns > last->to_ns) {
      if (last != nullptr && last->owner != span.owner && !HOLDFAST_PLANTED(only_the_last_end_counts))
        other = last;
      last = &span;
    } else if (span.owner != last->owner && (other == nullptr || span.to_ns > other->to_ns)) {
      other = &span;
    }
  }
  const Span* of_anybody() const { return last; }
  const Span* of_others(Symbol owner) const { return last == nullptr || last->owner != owner ? last : other; }
};

class Sweep {
 public:
  Sweep(std::vector<Span>& spans, const ExclusionRules& rules, std::size_t keep)
      : spans_(spans), rules_(rules), keep_(keep) {}

  ExclusionResult run() {
    if (!std::is_sorted(spans_.begin(), spans_.end(), before))
      std::sort(spans_.begin(), spans_.end(), before);
    for (std::size_t i = 0; i < spans_.size();) {
      std::size_t end = i;
      while (end < spans_.size() && spans_[end].key == spans_[i].key) ++end;
      if (rules_.permits > 0 || spans_[i].limit > 0) {
        count_permits(i, end);
      } else {
        find_pairs(i, end);
      }
      i = end;
    }
    std::stable_sort(result_.conflicts.begin(), result_.conflicts.end(),
                     [](const Conflict& a, const Conflict& b) { return a.from_ns < b.from_ns; });
    if (result_.conflicts.size() > keep_) result_.conflicts.resize(keep_);
    return std::move(result_);
  }

 private:
  void report(const Span& span, const std::vector<const Span*>& with) {
    ++result_.count;
    // Keys come one after another, not by time: keep twice as many and drop the later half now and then.
    if (keep_ < SIZE_MAX / 2 && result_.conflicts.size() >= 2 * keep_ + 16) {
      std::stable_sort(result_.conflicts.begin(), result_.conflicts.end(),
                       [](const Conflict& a, const Conflict& b) { return a.from_ns < b.from_ns; });
      result_.conflicts.resize(keep_);
    }
    Conflict found{.number = span.number, .with = {}, .from_ns = span.from_ns, .to_ns = span.to_ns};
    for (const Span* other : with) {
      found.with.push_back(other->number);
      found.to_ns = std::min(found.to_ns, other->to_ns);
    }
    std::sort(found.with.begin(), found.with.end());
    result_.conflicts.push_back(std::move(found));
  }

  void find_pairs(std::size_t begin, std::size_t end) {
    LastEnds exclusive, shared;
    for (std::size_t i = begin; i < end; ++i) {
      const Span& span = spans_[i];
      CHECKER_INVARIANT(span.from_ns <= span.to_ns, "a span ends no earlier than it begins");
      const Span* worst = nullptr;
      const auto consider = [&](const Span* candidate) {
        if (candidate == nullptr || !conflict(*candidate, span, rules_)) return;
        if (worst == nullptr || candidate->to_ns > worst->to_ns) worst = candidate;
      };
      // An exclusive and a shared span conflict only if their owners differ.
      consider(!span.shared && !rules_.reentrant ? exclusive.of_anybody() : exclusive.of_others(span.owner));
      if (!span.shared || HOLDFAST_PLANTED(readers_conflict)) consider(shared.of_others(span.owner));
      if (worst != nullptr) report(span, {worst});
      (span.shared ? shared : exclusive).add(span);
    }
  }

  void count_permits(std::size_t begin, std::size_t end) {
    const auto later = [](const Span* a, const Span* b) {
      return a->to_ns != b->to_ns ? a->to_ns > b->to_ns : a->number > b->number;
    };
    std::vector<const Span*> open;  // a heap; the span that ends first is in front
    std::int64_t taken = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Span& span = spans_[i];
      CHECKER_INVARIANT(span.from_ns <= span.to_ns, "a span ends no earlier than it begins");
      while (!open.empty() &&
             (open.front()->to_ns < span.from_ns ||
              (open.front()->to_ns == span.from_ns && !HOLDFAST_PLANTED(permits_come_back_late)))) {
        taken -= open.front()->permits;
        std::pop_heap(open.begin(), open.end(), later);
        open.pop_back();
      }
      if (taken + span.permits > limit_of(span)) report(span, heaviest(open, span));
      if (span.from_ns == span.to_ns) continue;  // empty: over before the next one begins
      taken += span.permits;
      open.push_back(&span);
      std::push_heap(open.begin(), open.end(), later);
    }
  }

  std::int64_t limit_of(const Span& span) const { return span.limit > 0 ? span.limit : rules_.permits; }

  // The fewest of `open` that leave too few permits for `span`.
  std::vector<const Span*> heaviest(std::vector<const Span*> open, const Span& span) const {
    std::sort(open.begin(), open.end(), [](const Span* a, const Span* b) {
      return a->permits != b->permits ? a->permits > b->permits : a->number < b->number;
    });
    std::int64_t sum = span.permits;
    std::size_t needed = 0;
    while (needed < open.size() && sum <= limit_of(span)) sum += open[needed++]->permits;
    open.resize(needed);
    return open;
  }

  std::vector<Span>& spans_;
  const ExclusionRules rules_;
  const std::size_t keep_;
  ExclusionResult result_;
};

}  // namespace

ExclusionResult sweep_exclusion(std::vector<Span>& spans, const ExclusionRules& rules, std::size_t keep) {
  return Sweep(spans, rules, keep).run();
}

}  // namespace holdfast::checker
