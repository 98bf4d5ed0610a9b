#include "checker/testing/oracle_truth.h"

#include <algorithm>
#include <stdexcept>

#include "checker/testing/oracle_world.h"

namespace holdfast::checker::oracle {

std::string_view to_string(Truth truth) {
  return truth == Truth::holds ? "holds" : truth == Truth::violated ? "violated" : "unknown";
}

namespace {

// --- pairs of holds ----------------------------------------------------------------------------------------

struct Span {
  const Hold* hold = nullptr;
  std::int64_t from = 0, to = 0;
};

bool overlap(const Span& a, const Span& b) {
  return a.hold->key == b.hold->key && a.from < b.to && b.from < a.to;
}

// The most permits of the key at any moment from `asked` to `granted`. A change may show from its invocation
// on, and what was there before it until its completion; before the first one there is what the model says.
std::int64_t most_permits(const Drawn& drawn, const World& world, const std::string& key, std::int64_t asked,
                          std::int64_t granted) {
  std::int64_t most = 0, since = INT64_MIN, value = drawn.permits;
  const auto look = [&](std::int64_t from, std::int64_t to, std::int64_t permits) {
    if (from <= granted && to >= asked) most = std::max(most, permits);
  };
  for (const Act& act : drawn.acts) {  // no two changes are under way at one time
    if (act.f != "resize" || act.key != key || act.answer == Answer::fail) continue;
    const std::int64_t next = std::stoll(act.value);
    if (act.answer == Answer::unknown) {
      look(world.call(act), kNever, next);  // at any time from then on
      continue;
    }
    look(since, world.ret(act), value);
    since = world.call(act);
    value = next;
  }
  look(since, kNever, value);
  return std::max<std::int64_t>(most, 1);
}

bool spans_conflict(const Drawn& drawn, const World& world, std::vector<Span> spans) {
  if (drawn.permits == 0) {
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Hold &a = *spans[i].hold, &b = *spans[j].hold;
        if (!overlap(spans[i], spans[j]) || (a.shared && b.shared)) continue;
        // One owner: only where it may re-enter, or reads what it writes.
        if (a.owner == b.owner && (drawn.reentrant || a.shared != b.shared)) continue;
        return true;
      }
    }
    return false;
  }
  // Too many permits: some hold in every order of those that begin together. They are best put in the order
  // of their limits.
  const auto limit = [&](const Span& span) {
    return most_permits(drawn, world, span.hold->key, span.hold->asked, span.hold->from);
  };
  std::stable_sort(spans.begin(), spans.end(),
                   [&](const Span& a, const Span& b) { return limit(a) < limit(b); });
  for (std::size_t i = 0; i < spans.size(); ++i) {
    std::int64_t taken = spans[i].hold->permits;
    for (std::size_t j = 0; j < spans.size(); ++j) {
      const bool sooner = spans[j].from < spans[i].from || (spans[j].from == spans[i].from && j < i);
      if (i != j && sooner && overlap(spans[j], spans[i])) taken += spans[j].hold->permits;
    }
    if (taken > limit(spans[i])) return true;
  }
  return false;
}

Truth mutual_exclusion(const Drawn& drawn, const World& world) {
  std::vector<Span> spans;
  for (const Hold& hold : world.holds) spans.push_back({&hold, hold.from, hold.to});
  if (!world.unheld.empty() || spans_conflict(drawn, world, spans)) return Truth::violated;
  return spans.empty() ? Truth::unknown : Truth::holds;
}

Truth lease_exclusion(const Drawn& drawn, const World& world) {
  std::vector<Span> spans;
  bool silent = false;
  for (const Hold& hold : world.holds) {
    silent = silent || !hold.until;
    if (hold.until && !hold.expired()) spans.push_back({&hold, hold.from, hold.claim_to()});
  }
  if (spans_conflict(drawn, world, spans)) return Truth::violated;
  return silent || spans.empty() ? Truth::unknown : Truth::holds;
}

// a < b as whole numbers of any length without sign.
bool less(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// Of a semaphore, whatever resized it; else 0.
std::int64_t most_permits(const Drawn& drawn) {
  std::int64_t most = drawn.permits;
  for (const Act& act : drawn.acts) {
    if (act.f == "resize") most = std::max<std::int64_t>(most, std::stoll(act.value));
  }
  return most > 1 ? most : 0;
}

Truth fencing_monotonic(const Drawn& drawn, const World& world) {
  const std::int64_t permits = most_permits(drawn);
  std::size_t tokens = 0;
  bool wrong = false;
  for (const Hold& b : world.holds) {
    tokens += b.token.empty() ? 0 : 1;
    for (const Hold& a : world.holds) {
      if (&a == &b || a.key != b.key || a.token.empty() || b.token.empty()) continue;
      const bool own = a.process == b.process;
      const auto earlier = [&](std::int64_t time, int place, std::int64_t begins, int begins_at) {
        return time < begins || (own && time == begins && place < begins_at);
      };
      const bool asked_later = earlier(a.from, a.from_at, b.asked, b.asked_at);
      const std::int64_t over = a.until ? a.claim_to() : a.to;
      const bool by_event = a.to_at >= 0 && over == a.to;
      const bool fit = (a.shared && b.shared) || a.permits + b.permits <= permits;
      const bool excluded =
          !fit && over != kNever && earlier(over, by_event ? a.to_at : a.from_at, b.from, b.from_at);
      if (!asked_later && !excluded) continue;
      const bool rises = less(a.token, b.token);
      const bool may_repeat = (a.shared && b.shared) || b.writer == a.from_at;
      wrong = wrong || !(rises || (may_repeat && a.token == b.token));
    }
  }
  if (wrong) return Truth::violated;
  return tokens == 0 || tokens < world.holds.size() ? Truth::unknown : Truth::holds;
}

Truth told_in_time(const Drawn& drawn, const World& world) {
  std::int64_t end = 0;
  for (const Act& act : drawn.acts) {
    end = std::max(end, act.returned >= 0 ? std::max(world.call(act), world.ret(act)) : world.call(act));
  }
  std::size_t claims = 0;
  bool late = false;
  for (const Hold& hold : world.holds) {
    if (!hold.until) continue;
    ++claims;
    late = late || hold.expired() || std::min(hold.to, end) > *hold.until;
  }
  if (late) return Truth::violated;
  return claims == 0 || claims < world.holds.size() ? Truth::unknown : Truth::holds;
}

}  // namespace

Truth truth_of(std::string_view check, const Drawn& drawn, const Telling& telling) {
  if (check == "linearizable") return linearizable(drawn, telling);
  const World world(drawn, telling);
  if (check == "mutual-exclusion") return mutual_exclusion(drawn, world);
  if (check == "lease-exclusion") return lease_exclusion(drawn, world);
  if (check == "fencing-monotonic") return fencing_monotonic(drawn, world);
  if (check == "told-in-time") return told_in_time(drawn, world);
  throw std::invalid_argument("the oracle knows no check " + std::string(check));
}

}  // namespace holdfast::checker::oracle
