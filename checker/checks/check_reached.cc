// reached: every mark that the scenario names was hit, else the story did not happen and the other verdicts
// are those of another story (a vacuous pass).
#include <set>

#include "checker/checks/check_registry.h"

namespace holdfast::checker {

namespace {

class Reached : public Check {
 public:
  std::string_view name() const override { return "reached"; }
  std::string_view about() const override { return "the story happened: every mark named was hit"; }
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
      witness.why = "The mark `" + mark + "` was never hit: the story did not happen.";
      verdict.witnesses.push_back(std::move(witness));
    }
    verdict.reason = verdict.violations > 0
                         ? verdict.witnesses.front().why
                         : std::to_string(context.required_marks.size()) + " marks, all hit";
    return verdict;
  }
};

}  // namespace

const Check& reached_check() {
  static const Reached check;
  return check;
}

}  // namespace holdfast::checker
