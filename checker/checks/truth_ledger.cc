#include "checker/checks/truth_ledger.h"

#include "checker/checks/truth.h"

namespace holdfast::checker {

TruthLedger read_truth_ledger(const History& history) {
  TruthLedger ledger;
  const Pairs pairs = pair_events(history);
  const std::vector<Event>& events = history.events();
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const bool store = event.f == Function::store_grant || event.f == Function::store_remove ||
                       event.f == Function::store_extend;
    if (!store || event.type != EventType::invoke) continue;
    TruthEntry entry{.forwarded = i,
                     .answered = pairs.other[i],
                     .id = event.id,
                     .client = event.owner,
                     .f = event.f,
                     .permits = event.permits};
    if (entry.answered != kNowhere) {
      const Event& answer = events[entry.answered];
      entry.some = answer.value == 1;
      entry.none = answer.type == EventType::ok && !entry.some;
      if (entry.id == 0) entry.id = answer.id;
    }
    if (event.value.kind() == Value::Kind::text) entry.named = event.value.symbol();
    entry.guessed = history.text(event.mode) == kOfItsClient;
    ledger[{event.node, event.key}].push_back(entry);
  }
  return ledger;
}

}  // namespace holdfast::checker
