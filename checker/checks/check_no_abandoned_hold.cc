// no-abandoned-hold: nobody keeps a lock that nobody works under any more.
//
// A hold is abandoned when its thread has told that its work is over (`leave`) and has done nothing with the
// hold since, its client lives, nobody released it, and after more than a lease it is still kept: a renewal
// came that late, and the promise reaches to the end of the run. A hold that ended with its lease, or with
// its client, is not abandoned: others get the lock. Neither is one whose thread still works.
//
// A hold that was kept to the end of the run by a thread that was silent for longer than a lease, and did not
// tell whether it works, leaves the verdict open; so does one that was left too late to tell.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

class NoAbandonedHold : public Check {
 public:
  std::string_view name() const override { return "no-abandoned-hold"; }
  std::vector<std::string_view> kinds() const override { return {"abandoned"}; }
  std::string_view about() const override {
    return "no lock is kept alive after the work of its holder is over";
  }

  Verdict run(const History& history, const CheckContext& context) const override {
    const std::vector<Event>& events = history.events();
    const Pairs pairs = pair_events(history);
    const std::vector<Hold> holds = build_holds(history, pairs, context.reentrant);
    const std::map<Symbol, Doing> doings = last_doings(history);
    const Wording words(history);
    const std::int64_t end_ns = std::max(context.end_ns, events.empty() ? 0 : events.back().time_ns);
    Verdict verdict;
    std::string open;  // why it cannot be told
    std::uint64_t unnamed = 0;
    for (const Hold& hold : holds) {
      if (hold.end != HoldEnd::never) continue;
      const auto found = doings.find(hold.id);
      if (hold.id == 0 || found == doings.end()) {
        ++unnamed;
        continue;
      }
      const Doing& doing = found->second;
      const std::int64_t since_ns = events[doing.last].time_ns;
      const std::int64_t lease_ns = lease_of(hold, events, context);
      if (!hold.has_claim()) {
        open =
            words.grant(hold) + " was never released, and the history does not tell until when it was valid";
        continue;
      }
      if (hold.valid_until_ns < end_ns) continue;  // it ended with its lease
      const std::int64_t last_ns =
          hold.renewals.empty() ? hold.from_ns : events[hold.renewals.back()].time_ns;
      if (last_ns - since_ns <= lease_ns) {
        if (doing.left) open = "the run ended less than a lease after " + words.grant(hold) + " was left";
        continue;
      }
      if (!doing.left) {
        open = words.grant(hold) +
               " was kept to the end of the run, and the history does not tell whether it was "
               "still worked under";
        continue;
      }
      ++verdict.violations;
      if (verdict.witnesses.size() >= 16) continue;
      Witness witness;
      witness.kind = "abandoned";
      witness.key = words.text(hold.key);
      witness.from_ns = since_ns;
      witness.to_ns = end_ns;
      witness.why = fmt::format(
          "{} was done with {} at {} and did not release it; it was still renewed at {}, {} later.",
          words.grant(hold), witness.key, words.time(since_ns), words.time(last_ns),
          words.duration(last_ns - since_ns));
      for (const std::size_t position : {hold.invoked, hold.acquired, doing.last}) {
        if (position != kNowhere) witness.events.push_back(position);
      }
      witness.events.insert(witness.events.end(), hold.renewals.begin(), hold.renewals.end());
      std::sort(witness.events.begin(), witness.events.end());
      verdict.witnesses.push_back(std::move(witness));
    }
    if (unnamed > 0) open = fmt::format("{} holds that were never released have no id", unnamed);
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else if (holds.empty()) {
      verdict.reason = "the history has no hold";
    } else if (!open.empty()) {
      verdict.reason = open;
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason =
          fmt::format("{} holds: each was released, or ended with its lease or its client", holds.size());
    }
    return verdict;
  }

 private:
  static std::int64_t lease_of(const Hold& hold, const std::vector<Event>& events,
                               const CheckContext& context) {
    if (context.lease_ns > 0 || !hold.has_claim()) return context.lease_ns;
    const std::int64_t from_ns = hold.invoked == kNowhere ? hold.from_ns : events[hold.invoked].time_ns;
    return std::max<std::int64_t>(0, hold.granted_until_ns - from_ns);
  }
};

}  // namespace

const Check& no_abandoned_hold_check() {
  static const NoAbandonedHold check;
  return check;
}

}  // namespace holdfast::checker
