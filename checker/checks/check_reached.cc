// reached: every mark that the scenario names was reached. Without them the run did not do what the scenario
// is about, and its other verdicts mean nothing.
#include <set>

#include "checker/checks/check_registry.h"

namespace holdfast::checker {

namespace {

class Reached : public Check {
 public:
  std::string_view name() const override { return "reached"; }
  std::vector<std::string_view> kinds() const override { return {"not-reached"}; }
  std::string_view about() const override { return "every mark that the scenario names was reached"; }
  Verdict run(const History& history, const CheckContext& context) const override {
    std::set<std::string_view> seen;
    for (const Event& event : history.events()) {
      if (event.f == Function::mark) seen.insert(history.text(event.key));
    }
    Verdict verdict;
    verdict.outcome = Outcome::holds;
    for (const std::string& mark : context.required_marks) {
      if (seen.contains(mark)) continue;
      verdict.outcome = Outcome::violated;
      ++verdict.violations;
      Witness witness;
      witness.kind = "not-reached";
      witness.why =
          "The mark `" + mark + "` was never reached: the run did not do what the scenario is about.";
      verdict.witnesses.push_back(std::move(witness));
    }
    verdict.reason = verdict.violations > 0
                         ? verdict.witnesses.front().why
                         : std::to_string(context.required_marks.size()) + " marks, all reached";
    return verdict;
  }
};

}  // namespace

const Check& reached_check() {
  static const Reached check;
  return check;
}

}  // namespace holdfast::checker
