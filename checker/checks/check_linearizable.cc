// linearizable: some order of the operations explains the history under the lock's model (linearizability.h).
#include <algorithm>
#include <stdexcept>

#include "checker/checks/check_registry.h"
#include "checker/linearizability/linearizability.h"

namespace holdfast::checker {

namespace {

class Linearizable : public Check {
 public:
  std::string_view name() const override { return "linearizable"; }
  std::vector<std::string_view> kinds() const override {
    return {"double-hold",       "too-deep",         "token-order",        "release-without-hold",
            "overtaken",         "too-many-permits", "no-order",           "read-of-nothing",
            "read-before-write", "stale-read",       "dequeue-of-nothing", "dequeued-twice",
            "out-of-order",      "not-empty",        "lost-element",       "element-twice"};
  }
  std::string_view about() const override {
    return "some order of the operations explains the history under the model";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    LinearizabilityOptions options;
    options.model =
        context.model.empty()
            ? usual_lock_model(history, {.reentrant = context.reentrant, .counts = context.permits > 0})
            : context.model;
    options.model_options.permits = std::max<std::int64_t>(context.permits, 1);
    if (context.initial_stock) options.model_options.initial = Value(*context.initial_stock);
    Verdict verdict;
    try {
      const LinearizabilityResult result = check_linearizable(history, options);
      verdict.outcome = result.outcome;
      verdict.reason = result.reason;
      for (const KeyVerdict& key : result.keys) {
        if (key.outcome != Outcome::violated) continue;
        ++verdict.violations;
        if (verdict.witnesses.size() < 16) verdict.witnesses.push_back(witness_of(history, key));
      }
      verdict.out_of_bounds = verdict.outcome == Outcome::violated && !context.clocks_within_bounds;
    } catch (const HistoryError& error) {
      verdict.reason = error.what();
    } catch (const std::invalid_argument& error) {
      verdict.reason = error.what();
    }
    return verdict;
  }

 private:
  static Witness witness_of(const History& history, const KeyVerdict& key) {
    Witness witness;
    witness.kind = key.kind;
    witness.why = key.reason;
    witness.key = history.text(key.key);
    witness.events = key.witness;
    witness.from_ns = witness.to_ns = history.events()[key.at].time_ns;
    if (key.holder) witness.acquires = std::pair(*key.holder, key.at);
    return witness;
  }
};

}  // namespace

const Check& linearizable_check() {
  static const Linearizable check;
  return check;
}

}  // namespace holdfast::checker
