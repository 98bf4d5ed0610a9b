// fencing-monotonic: tokens rise strictly along the order of the holds of one key.
//
// Hold a comes before hold b when b was invoked after a's acquire returned, or when they exclude each other
// and a's claim (without one: a's hold) was over when b began. Then b's token must be the greater one; among
// readers it may be equal, and where b is what a writer reads beside its hold a (a downgrade). Other holds
// are not ordered: two readers may be granted in one order and learn of it in the other, and so may two
// holders of a semaphore whose permits are enough for both. Each of the two rules takes one sweep by time,
// which compares with the greatest token so far: O(n log n).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

// A point of a sweep: a hold that begins and is compared with those before it, or one that counts as before
// from here on.
struct TokenPoint {
  Symbol key;
  std::int64_t time_ns;
  std::size_t position;  // program order among equal times of one process
  bool asks;             // true: it is compared
  const Hold* hold;
};

bool earlier(const TokenPoint& a, const TokenPoint& b) {
  if (a.key != b.key) return a.key < b.key;
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  return a.position < b.position;
}

// The holds before one, of which only those with the greatest tokens matter.
class Greatest {
 public:
  // `permits`: how many there are at most; two holds that need no more of them do not exclude each other. 0:
  // no semaphore.
  explicit Greatest(std::int64_t permits) : permits_(permits) {}
  void add(const Hold* hold) {
    if (hold->shared) {
      if (reader_ == nullptr || hold->token > reader_->token) reader_ = hold;
      return;
    }
    auto at = writers_.lower_bound(hold->permits);
    if (at != writers_.end() && !(hold->token > at->second->token))
      return;  // who excludes more has a greater one
    if (at == writers_.end() || at->first != hold->permits)
      at = writers_.emplace_hint(at, hold->permits, hold);
    at->second = hold;
    while (at != writers_.begin() && !(std::prev(at)->second->token > hold->token))
      writers_.erase(std::prev(at));
  }
  // A hold before `hold` whose token is too great; nullptr: there is none.
  const Hold* against(const Hold& hold, bool only_excluded) const {
    const std::int64_t room = only_excluded && !HOLDFAST_PLANTED(permits_are_exclusive)
                                  ? permits_ - static_cast<std::int64_t>(hold.permits)
                                  : 0;
    const auto at = writers_.upper_bound(static_cast<std::uint32_t>(std::max<std::int64_t>(room, 0)));
    const Hold* const writer = at == writers_.end() ? nullptr : at->second;
    if (writer != nullptr && (writer->token > hold.token ||
                              (writer->token == hold.token && !HOLDFAST_PLANTED(equal_tokens_pass) &&
                               (!hold.continues(*writer) || HOLDFAST_PLANTED(who_reads_wants_a_token)))))
      return writer;
    if (only_excluded && hold.shared) return nullptr;
    if (reader_ != nullptr &&
        (hold.shared && !HOLDFAST_PLANTED(tokens_of_readers_rise) ? reader_->token > hold.token
                                                                  : reader_->token >= hold.token))
      return reader_;
    return nullptr;
  }

 private:
  std::int64_t permits_;
  const Hold* reader_ = nullptr;
  std::map<std::uint32_t, const Hold*>
      writers_;  // by their permits: the more, the smaller the greatest token
};

// Whatever resized a semaphore, its limit was never greater; 0: no semaphore.
std::int64_t most_permits(const History& history, const CheckContext& context) {
  std::int64_t most = context.permits;
  for (const Event& event : history.events()) {
    if (event.f == Function::resize && event.value.kind() == Value::Kind::number) {
      most = std::max(most, event.value.number());
    }
  }
  return most > 1 ? most : 0;
}

class FencingMonotonic : public Check {
 public:
  std::string_view name() const override { return "fencing-monotonic"; }
  std::vector<std::string_view> kinds() const override { return {"token-repeated", "token-fell"}; }
  std::string_view about() const override { return "fencing tokens rise strictly from hold to hold"; }
  Verdict run(const History& history, const CheckContext& context) const override {
    const auto& events = history.events();
    std::vector<Hold> holds = build_holds(history, context.reentrant);
    std::vector<Value*> ranked;
    for (Hold& hold : holds) ranked.push_back(&hold.token);
    if (const auto no_number = history.rank(ranked)) {
      Verdict verdict;
      verdict.reason =
          fmt::format("the token {} is no number, and tokens must rise", history.shown(*no_number));
      return verdict;
    }
    std::vector<TokenPoint> asked, by_claims;
    std::size_t tokens = 0;
    for (const Hold& hold : holds) {
      if (hold.token.empty()) continue;
      ++tokens;
      const std::size_t invoked = hold.invoked == kNowhere ? hold.acquired : hold.invoked;
      asked.push_back({hold.key, events[invoked].time_ns, invoked, true, &hold});
      asked.push_back({hold.key, hold.from_ns, hold.acquired, false, &hold});
      const std::int64_t to_ns = hold.has_claim() && !HOLDFAST_PLANTED(tokens_by_holds)
                                     ? std::max(hold.from_ns, hold.claim_to_ns())
                                     : hold.to_ns;
      by_claims.push_back({hold.key, hold.from_ns, hold.acquired, true, &hold});
      if (to_ns == kForever) continue;
      const bool ended = hold.ended != kNowhere && to_ns == hold.to_ns;
      by_claims.push_back({hold.key, to_ns, ended ? hold.ended : hold.acquired, false, &hold});
    }
    Verdict verdict;
    if (tokens == 0) {
      verdict.reason = holds.empty() ? "the history has no grants" : "the history has no token";
      return verdict;
    }
    std::vector<std::pair<const Hold*, const Hold*>> found;
    const std::int64_t permits = most_permits(history, context);
    sweep(asked, false, permits, found);
    sweep(by_claims, true, permits, found);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return a.second->acquired != b.second->acquired ? a.second->acquired < b.second->acquired
                                                      : a.first->acquired < b.first->acquired;
    });
    found.erase(std::unique(found.begin(), found.end(),
                            [](const auto& a, const auto& b) { return a.second == b.second; }),
                found.end());
    verdict.violations = found.size();
    const Wording words(history);
    for (const auto& [first, second] : found) {
      if (verdict.witnesses.size() >= 16) break;
      Witness witness;
      witness.kind = first->token == second->token ? "token-repeated" : "token-fell";
      witness.key = words.text(second->key);
      witness.acquires = std::pair(first->acquired, second->acquired);
      witness.from_ns = witness.to_ns = second->from_ns;
      witness.why =
          fmt::format("{} got token {} for {}, later {} got token {}: it must be greater.",
                      words.grant(*first), history.shown(events[first->acquired].token), witness.key,
                      words.grant(*second), history.shown(events[second->acquired].token));
      for (const Hold* hold : {first, second}) {
        for (const std::size_t position : {hold->invoked, hold->acquired, hold->ended}) {
          if (position != kNowhere) witness.events.push_back(position);
        }
      }
      std::sort(witness.events.begin(), witness.events.end());
      verdict.witnesses.push_back(std::move(witness));
    }
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else if (tokens < holds.size()) {
      verdict.reason =
          fmt::format("the history has no token for {} of {} grants", holds.size() - tokens, holds.size());
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format("{} tokens, rising", tokens);
    }
    return verdict;
  }

 private:
  // At equal times the points of different processes are concurrent, and those of one process are ordered by
  // position. So all comparisons come before all additions of that time, except additions of the same
  // process.
  static void sweep(std::vector<TokenPoint>& points, bool only_excluded, std::int64_t permits,
                    std::vector<std::pair<const Hold*, const Hold*>>& found) {
    std::sort(points.begin(), points.end(), earlier);
    for (std::size_t i = 0; i < points.size();) {
      const Symbol key = points[i].key;
      Greatest greatest(permits);
      while (i < points.size() && points[i].key == key) {
        std::size_t end = i;
        while (end < points.size() && points[end].key == key && points[end].time_ns == points[i].time_ns)
          ++end;
        for (std::size_t at = i; at < end; ++at) {
          if (!points[at].asks) continue;
          const Hold* worse = greatest.against(*points[at].hold, only_excluded);
          for (std::size_t own = i; own < at && worse == nullptr; ++own) {
            if (points[own].asks) continue;
            if (points[own].hold->process != points[at].hold->process &&
                !HOLDFAST_PLANTED(token_ties_are_ordered))
              continue;
            Greatest alone(permits);
            alone.add(points[own].hold);
            worse = alone.against(*points[at].hold, only_excluded);
          }
          if (worse != nullptr && worse != points[at].hold) found.emplace_back(worse, points[at].hold);
        }
        for (std::size_t at = i; at < end; ++at) {
          if (!points[at].asks) greatest.add(points[at].hold);
        }
        i = end;
      }
    }
  }
};

}  // namespace

const Check& fencing_monotonic_check() {
  static const FencingMonotonic check;
  return check;
}

}  // namespace holdfast::checker
