#include "sim/hunt/role_changes.h"

#include <algorithm>
#include <vector>

#include "checker/history/effects.h"
#include "checker/holds/holds.h"

namespace holdfast::sim {

std::uint64_t role_changes_in_claims(const checker::History& history) {
  using checker::Effect;
  std::vector<std::int64_t> changes;
  for (const checker::Event& event : history.events()) {
    Effect effect{};
    if (event.f != checker::Function::effect || !checker::effect_of(history, event, effect)) continue;
    if (effect == Effect::promoted || effect == Effect::demoted || effect == Effect::restarted)
      changes.push_back(event.time_ns);
  }
  if (changes.empty()) return 0;
  const std::vector<checker::Hold> holds = checker::build_holds(history, true);
  return static_cast<std::uint64_t>(std::count_if(changes.begin(), changes.end(), [&](std::int64_t at) {
    return std::any_of(holds.begin(), holds.end(), [at](const checker::Hold& hold) {
      return hold.has_claim() && hold.from_ns <= at && at < hold.claim_to_ns();
    });
  }));
}

}  // namespace holdfast::sim
