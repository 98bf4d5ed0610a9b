// fair-order: a waiter in a lock's queue is not overtaken more often than the lock promised.
//
// A waiter is queued from its `queue` event on: its client was told so, or the server's ledger shows it. Each
// hold of the key that was asked for strictly later, and granted strictly before the waiter's own grant,
// overtakes it; but no reader overtakes a reader, as neither keeps the other out. Where the ledger has a
// grant, it was made between the forwarding of the command and its answer: a holder of permits may be told
// later than one that was granted after it. Else it counts from when its client knew. Only waiters that were
// granted count, since one that gave up may have left the queue at any time. (That nobody is granted is a
// matter of `progress`.) A fault that changes what servers store (crash, restart, promotion, replication)
// resets the queue: only `queue` events after the last one count. So does a silence: a waiter of whom the
// server has not heard for a lease and a third is taken for dead, and comes in again at the end. Where the
// ledger has its requests it shows that; who may have been silent for so long is given the benefit of it, and
// each stretch without a silence is judged by itself. Pairs are counted with one sort and a Fenwick tree,
// O(n log n).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/checks/truth_ledger.h"
#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

// When the server granted a hold, at the earliest and at the latest.
struct Granted {
  std::int64_t earliest_ns = 0, latest_ns = 0;
  std::size_t forwarded = kNowhere, answered = kNowhere;  // in the ledger
};

struct QueuedHold {
  const Hold* hold = nullptr;
  Granted granted;
  std::size_t told = kNowhere;  // position of the `queue` event
  std::int64_t told_ns = 0;     // from then on it surely had its place,
  std::int64_t until_ns = 0;    // until then
  std::int64_t overtaken = 0;
};

struct AskedHold {
  const Hold* hold = nullptr;
  Granted granted;
  std::int64_t asked_ns = 0;
};

class FenwickTree {
 public:
  explicit FenwickTree(std::size_t size) : sums_(size + 1, 0) {}
  void add(std::size_t at) {
    for (++at; at < sums_.size(); at += at & (~at + 1)) ++sums_[at];
  }
  std::int64_t below(std::size_t end) const {  // how many were added at places before `end`
    std::int64_t sum = 0;
    for (; end > 0; end -= end & (~end + 1)) sum += sums_[end];
    return sum;
  }

 private:
  std::vector<std::int64_t> sums_;
};

void count(std::vector<QueuedHold>& waiters, std::vector<AskedHold>& grants) {
  std::vector<std::int64_t> times;
  for (const AskedHold& grant : grants) times.push_back(grant.granted.latest_ns);
  std::sort(times.begin(), times.end());
  const auto rank = [&](std::int64_t time_ns) {
    return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), time_ns) - times.begin());
  };
  std::sort(grants.begin(), grants.end(),
            [](const AskedHold& a, const AskedHold& b) { return a.asked_ns > b.asked_ns; });
  std::sort(waiters.begin(), waiters.end(),
            [](const QueuedHold& a, const QueuedHold& b) { return a.told_ns > b.told_ns; });
  FenwickTree counts(times.size());
  std::size_t next = 0;
  for (QueuedHold& waiter : waiters) {
    for (; next < grants.size() && grants[next].asked_ns > waiter.told_ns; ++next) {
      counts.add(rank(grants[next].granted.latest_ns));
    }
    waiter.overtaken = counts.below(rank(waiter.until_ns));
  }
}

bool overtakes(const QueuedHold& waiter, const AskedHold& grant) {
  return grant.asked_ns > waiter.told_ns && grant.granted.latest_ns < waiter.until_ns &&
         !(waiter.hold->shared && grant.hold->shared);
}

// What the ledger knows of grants, by acquisition, in order of forwarding.
class LedgerOfGrants {
 public:
  explicit LedgerOfGrants(const History& history)
      : events_(history.events()), grants_(history.symbols()), refusals_(history.symbols()) {
    for (const auto& [place, entries] : read_truth_ledger(history)) {
      for (const TruthEntry& entry : entries) {
        if (entry.f != Function::store_grant || entry.id == 0) continue;
        if (entry.some) grants_[entry.id].push_back(entry);
        if (entry.none) refusals_[entry.id].push_back(entry);
      }
    }
    for (std::vector<TruthEntry>& refusals : refusals_) {  // of several servers
      std::stable_sort(refusals.begin(), refusals.end(),
                       [](const TruthEntry& a, const TruthEntry& b) { return a.forwarded < b.forwarded; });
    }
  }
  // The stretches of a wait, told of at first as in `whole`, in which the server heard of it often enough.
  // `told`: positions of what its client was told of its place, ascending: answers that say so, no errors.
  std::vector<QueuedHold> without_silence(const QueuedHold& whole, const std::vector<std::size_t>& told,
                                          std::int64_t lease_ns) const {
    constexpr std::int64_t kRounding = 2'000'000;  // a server counts milliseconds
    const std::int64_t patience_ns = lease_ns + lease_ns / 3 - kRounding;
    std::vector<QueuedHold> stretches = {whole};
    const std::vector<TruthEntry>& refusals = refusals_[whole.hold->id];
    if (lease_ns == 0 || refusals.empty()) return stretches;
    std::int64_t heard_ns = whole.told_ns;  // no earlier than that
    for (const std::size_t at : told) {
      std::int64_t sent_ns = events_[at].time_ns;
      for (const TruthEntry& refusal : refusals) {  // the last one that was answered by then
        if (refusal.forwarded > at) break;
        if (refusal.answered < at) sent_ns = events_[refusal.forwarded].time_ns;
      }
      const std::int64_t answered_ns = events_[at].time_ns;
      if (at != told.front() && answered_ns - heard_ns > patience_ns) {
        stretches.back().until_ns = std::min(stretches.back().until_ns, heard_ns + patience_ns);
        stretches.push_back(whole);
        stretches.back().told = at;
        stretches.back().told_ns = answered_ns;
      }
      heard_ns = sent_ns;
    }
    stretches.back().until_ns = std::min(stretches.back().until_ns, heard_ns + patience_ns);
    return stretches;
  }
  // REQUIRES: `asked` is the position of the hold's request.
  Granted of(const Hold& hold, std::size_t asked) const {
    for (const TruthEntry& grant : grants_[hold.id]) {
      if (grant.forwarded <= asked || grant.forwarded >= hold.acquired) continue;
      return {.earliest_ns = std::min(hold.from_ns, events_[grant.forwarded].time_ns),
              .latest_ns = std::min(hold.from_ns, events_[grant.answered].time_ns),
              .forwarded = grant.forwarded,
              .answered = grant.answered};
    }
    return {.earliest_ns = hold.from_ns, .latest_ns = hold.from_ns};
  }

 private:
  const std::vector<Event>& events_;
  std::vector<std::vector<TruthEntry>> grants_, refusals_;
};

// Readers are overtaken by writers, writers by everybody.
void count_by_mode(std::vector<QueuedHold>& waiters, std::vector<AskedHold>& grants) {
  const auto readers = std::partition(waiters.begin(), waiters.end(),
                                      [](const QueuedHold& waiter) { return !waiter.hold->shared; });
  std::vector<QueuedHold> reading(readers, waiters.end());
  waiters.erase(readers, waiters.end());
  count(waiters, grants);
  if (reading.empty()) return;
  std::vector<AskedHold> writing;
  std::copy_if(grants.begin(), grants.end(), std::back_inserter(writing),
               [](const AskedHold& grant) { return !grant.hold->shared; });
  count(reading, writing);
  waiters.insert(waiters.end(), reading.begin(), reading.end());
}

class FairOrder : public Check {
 public:
  std::string_view name() const override { return "fair-order"; }
  std::vector<std::string_view> kinds() const override { return {"overtaken"}; }
  std::string_view about() const override {
    return "a waiter is not overtaken by later requests more often than promised";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    const auto& events = history.events();
    const std::vector<Hold> holds = build_holds(history, context.reentrant);
    std::vector<std::vector<std::size_t>> told(history.symbols());  // by acquisition, else by process
    std::vector<std::int64_t> reset_ns;
    std::size_t queued = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.f == Function::queue) {
        told[event.id != 0 ? event.id : event.process].push_back(i);
        ++queued;
      } else if (Effect effect{}; effect_of(history, event, effect) && changes_stores(effect)) {
        reset_ns.push_back(event.time_ns);
      }
    }
    Verdict verdict;
    if (queued == 0 || holds.empty()) {
      verdict.reason = holds.empty() ? "the history has no grants"
                                     : "the history has no queue event (no client was told that it waits)";
      return verdict;
    }
    std::sort(reset_ns.begin(), reset_ns.end());
    const LedgerOfGrants ledger(history);
    std::map<Symbol, std::pair<std::vector<QueuedHold>, std::vector<AskedHold>>> keys;
    std::size_t waited = 0, reset = 0;
    for (const Hold& hold : holds) {
      const std::size_t asked = hold.invoked == kNowhere ? hold.acquired : hold.invoked;
      auto& [waiters, grants] = keys[hold.key];
      const Granted granted = ledger.of(hold, asked);
      grants.push_back({.hold = &hold, .granted = granted, .asked_ns = events[asked].time_ns});
      const auto last = std::upper_bound(reset_ns.begin(), reset_ns.end(), hold.from_ns);
      const std::int64_t since_ns =
          last == reset_ns.begin() ? std::numeric_limits<std::int64_t>::min() : *std::prev(last);
      const std::vector<std::size_t>& by_id = told[hold.id];
      const std::vector<std::size_t>& mine = hold.id != 0 && !by_id.empty() ? by_id : told[hold.process];
      bool forgotten = false;
      std::vector<std::size_t> places;  // what it was told of its place, since the queue was last reset
      for (auto at = std::lower_bound(mine.begin(), mine.end(), asked);
           at != mine.end() && *at < hold.acquired; ++at) {
        const Event& event = events[*at];
        if (event.key != 0 && event.key != hold.key) continue;
        if (event.time_ns > since_ns)
          places.push_back(*at);
        else
          forgotten = true;
      }
      if (!places.empty()) {
        forgotten = false;
        ++waited;
        const QueuedHold whole{.hold = &hold,
                               .granted = granted,
                               .told = places.front(),
                               .told_ns = events[places.front()].time_ns,
                               .until_ns = granted.earliest_ns};
        for (const QueuedHold& stretch : ledger.without_silence(whole, places, context.lease_ns))
          waiters.push_back(stretch);
      }
      reset += forgotten ? 1 : 0;
    }
    std::int64_t most = 0;
    std::vector<std::pair<QueuedHold, const std::vector<AskedHold>*>> found;
    for (auto& [key, both] : keys) {
      count_by_mode(both.first, both.second);
      for (const QueuedHold& waiter : both.first) {
        most = std::max(most, waiter.overtaken);
        if (waiter.overtaken > context.promised_overtakes) found.emplace_back(waiter, &both.second);
      }
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.first.hold->acquired < b.first.hold->acquired; });
    verdict.violations = found.size();
    const Wording words(history);
    for (const auto& [waiter, grants] : found) {
      if (verdict.witnesses.size() >= 16) break;
      verdict.witnesses.push_back(
          witness_of(words, waiter, *grants, static_cast<std::size_t>(context.promised_overtakes) + 1));
    }
    const std::string measured =
        fmt::format("overtaken {} times at most, promised {}", most, context.promised_overtakes);
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.witnesses.front().why.insert(verdict.witnesses.front().why.size() - 1, " (" + measured + ")");
      verdict.reason = verdict.witnesses.front().why;
    } else if (waited == 0) {
      verdict.reason = "the history has no grant to a waiter whose queue was not reset";
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format("{} of {} grants had waited: {}", waited, holds.size(), measured);
      if (reset > 0) verdict.reason += fmt::format("; {} waits were reset by a fault", reset);
    }
    return verdict;
  }

 private:
  static Witness witness_of(const Wording& words, const QueuedHold& waiter,
                            const std::vector<AskedHold>& grants, std::size_t enough) {
    const Hold& hold = *waiter.hold;
    std::vector<const AskedHold*> others;
    for (const AskedHold& grant : grants) {
      if (overtakes(waiter, grant)) others.push_back(&grant);
    }
    std::sort(others.begin(), others.end(),
              [](const AskedHold* a, const AskedHold* b) { return a->hold->acquired < b->hold->acquired; });
    const Hold& first = *others.front()->hold;
    if (others.size() > enough) others.resize(enough);
    Witness witness;
    witness.kind = "overtaken";
    witness.key = words.text(hold.key);
    witness.acquires = std::pair(first.acquired, hold.acquired);
    witness.from_ns = waiter.told_ns;
    witness.to_ns = hold.from_ns;
    witness.why = fmt::format(
        "{} waited for {} since {} and was overtaken {} times, first by {}, which asked later.",
        words.owner(hold), witness.key, words.time(waiter.told_ns), waiter.overtaken, words.grant(first));
    const AskedHold own{.hold = &hold, .granted = waiter.granted};
    others.push_back(&own);
    for (const AskedHold* each : others) {
      for (const std::size_t position :
           {each->hold->invoked, each->hold->acquired, each->granted.forwarded, each->granted.answered}) {
        if (position != kNowhere) witness.events.push_back(position);
      }
    }
    witness.events.push_back(waiter.told);
    std::sort(witness.events.begin(), witness.events.end());
    // One release may have made several of them holders.
    witness.events.erase(std::unique(witness.events.begin(), witness.events.end()), witness.events.end());
    return witness;
  }
};

}  // namespace

const Check& fair_order_check() {
  static const FairOrder check;
  return check;
}

}  // namespace holdfast::checker
