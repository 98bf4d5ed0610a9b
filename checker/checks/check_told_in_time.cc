// told-in-time: a holder is told by valid_until that its lease is over.
//
// A client that is paused then must be told when it runs again; while it is paused, what telling may take
// does not go by. A grant whose lease was over when acquire returned is late from its beginning.
#include <fmt/format.h>

#include <algorithm>

#include "checker/checks/check_registry.h"
#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"
#include "checker/planted.h"

namespace holdfast::checker {

namespace {

class ToldInTime : public Check {
 public:
  std::string_view name() const override { return "told-in-time"; }
  std::vector<std::string_view> kinds() const override { return {"expired-grant", "told-late", "not-told"}; }
  std::string_view about() const override { return "a holder is told by valid_until that its lease is over"; }
  Verdict run(const History& history, const CheckContext& context) const override {
    const std::vector<Hold> holds = build_holds(history, context.reentrant);
    const Wording words(history);
    const Pauses pauses(history);
    const std::int64_t end_ns =
        std::max(context.end_ns, history.events().empty() ? 0 : history.events().back().time_ns);
    Verdict verdict;
    std::size_t claims = 0;
    for (const Hold& hold : holds) {
      if (!hold.has_claim()) continue;
      ++claims;
      const bool expired = hold.expired_at_return();
      const std::int64_t due_ns = pauses.has_run(hold.client, hold.valid_until_ns, context.told_slack_ns);
      const std::int64_t believed_ns = HOLDFAST_PLANTED(never_told_holds) && hold.to_ns == kForever
                                           ? hold.from_ns
                                           : std::min(hold.to_ns, end_ns);
      if (!expired && believed_ns <= due_ns) continue;
      ++verdict.violations;
      if (verdict.witnesses.size() >= 16) continue;
      Witness witness;
      witness.kind = expired ? "expired-grant" : hold.end == HoldEnd::told_lost ? "told-late" : "not-told";
      witness.key = words.text(hold.key);
      witness.from_ns = hold.valid_until_ns;
      witness.to_ns = believed_ns;
      const std::string held = hold.end == HoldEnd::never ? "believed in it to the end of the run"
                               : hold.end == HoldEnd::told_lost
                                   ? "was told so only at " + words.time(hold.to_ns)
                                   : "believed in it until " + words.time(hold.to_ns);
      witness.why = expired
                        ? fmt::format("The lock returned an expired lock: {} of {} was valid until {} only.",
                                      words.grant(hold), witness.key, words.time(hold.granted_until_ns))
                        : fmt::format("{} owned {} until {} and {}.", words.grant(hold), witness.key,
                                      words.time(hold.valid_until_ns), held);
      for (const std::size_t position : {hold.invoked, hold.acquired, hold.ended}) {
        if (position != kNowhere) witness.events.push_back(position);
      }
      witness.events.insert(witness.events.end(), hold.renewals.begin(), hold.renewals.end());
      std::sort(witness.events.begin(), witness.events.end());
      verdict.witnesses.push_back(std::move(witness));
    }
    verdict.outcome = verdict.violations > 0 ? Outcome::violated
                      : (claims == 0 && !HOLDFAST_PLANTED(nothing_told_holds)) || claims < holds.size()
                          ? Outcome::unknown
                          : Outcome::holds;
    if (verdict.outcome == Outcome::violated) {
      verdict.reason = verdict.witnesses.front().why;
      verdict.out_of_bounds = !context.clocks_within_bounds;
    } else if (verdict.outcome == Outcome::unknown) {
      verdict.reason = holds.empty() ? "the history has no grants"
                       : claims == 0 ? "the history has no valid_until"
                                     : fmt::format("{} of {} grants have no valid_until",
                                                   holds.size() - claims, holds.size());
    } else {
      verdict.reason = fmt::format("{} claims, every holder was told in time", claims);
    }
    return verdict;
  }
};

}  // namespace

const Check& told_in_time_check() {
  static const ToldInTime check;
  return check;
}

}  // namespace holdfast::checker
