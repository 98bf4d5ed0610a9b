// truth: while a lock is claimed its record stands on the server that granted it (on a majority, for a
// quorum lock), unless a fault or a command that was sent for another acquisition took it away; and the
// ledger says of the servers' records what really happened. Only a simulated world knows that (truth.h).
#include <fmt/format.h>

#include "checker/checks/check_registry.h"
#include "checker/checks/truth.h"

namespace holdfast::checker {
namespace {

class TruthCheck : public Check {
 public:
  std::string_view name() const override { return "truth"; }
  std::vector<std::string_view> kinds() const override {
    return {"no-record",   "record-expired", "record-removed",  "record-overwritten",
            "two-records", "unnamed-grant",  "unnamed-removal", "ledger-wrong"};
  }
  std::string_view about() const override {
    return "what is claimed stands in the servers' keyspaces, or it is known what removed it (embedded "
           "world)";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    Truth truth = compare_with_truth(history, context);
    Verdict verdict;
    if (!truth.watched) {
      verdict.reason =
          "nobody watched the servers' keyspaces (the embedded world does, when asked for this check)";
      return verdict;
    }
    verdict.violations = truth.wrong.size();
    verdict.witnesses = std::move(truth.wrong);
    if (verdict.witnesses.size() > 16) verdict.witnesses.resize(16);
    if (verdict.violations > 0) {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    } else if (truth.claims == truth.unplaced) {
      verdict.reason = truth.claims == 0 ? "the history has no claims" : "no claim names its server";
    } else {
      verdict.outcome = Outcome::holds;
      verdict.reason = fmt::format(
          "{} claims: the record of {} stood throughout, that of {} was taken by a fault, that of {} by a "
          "command "
          "sent for others",
          truth.claims, truth.stood, truth.by_fault, truth.by_others);
    }
    return verdict;
  }
};

}  // namespace

const Check& truth_check() {
  static const TruthCheck check;
  return check;
}

}  // namespace holdfast::checker
