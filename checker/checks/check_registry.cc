// The checks of this build: `holdfast list checks`.
#include "checker/checks/check_registry.h"

#include <algorithm>

namespace holdfast::checker {

const std::vector<const Check*>& all_checks() {
  static const std::vector<const Check*> checks = {
      &mutual_exclusion_check(),
      &lease_exclusion_check(),
      &told_in_time_check(),
      &linearizable_check(),
      &fair_order_check(),
      &fencing_monotonic_check(),
      &no_foreign_release_check(),
      &progress_check(),
      &at_rest_check(),
      &oversell_check(),
      &lost_update_check(),
      &negative_stock_check(),
      &balance_check(),
      &job_once_check(),
      &latch_check(),
      &effects_inside_hold_check(),
      &no_abandoned_hold_check(),
      &truth_check(),
      &reached_check(),
      &share_check(),
  };
  return checks;
}

std::optional<Verdict> unless_numbers(const History& history, std::initializer_list<Function> functions) {
  for (const Event& event : history.events()) {
    if (event.value.empty() || event.value.is_number()) continue;
    if (std::find(functions.begin(), functions.end(), event.f) == functions.end()) continue;
    Verdict verdict;
    verdict.reason = "the value " + history.shown(event.value) + " is no number, and this check counts";
    return verdict;
  }
  return std::nullopt;
}

const Check* find_check(std::string_view name) {
  for (const Check* check : all_checks()) {
    if (check->name() == name) return check;
  }
  return nullptr;
}

}  // namespace holdfast::checker
