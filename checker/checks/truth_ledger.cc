#include "checker/checks/truth_ledger.h"

#include <algorithm>

#include "checker/checks/truth.h"

namespace holdfast::checker {

TruthLedger read_truth_ledger(const History& history) {
  TruthLedger ledger;
  const Pairs pairs = pair_events(history);
  const std::vector<Event>& events = history.events();
  std::map<std::size_t, std::size_t> forwarded_of;  // grants: by the position of the answer
  // A release may make several owners. The first has its entry when the release is forwarded, the others have
  // theirs with its answer, right behind that of the one before: they were made by the same command.
  const auto forwarded = [&](std::size_t i, std::size_t answered) {
    const auto before = forwarded_of.find(i - 1);
    if (i == 0 || answered != i + 1 || before == forwarded_of.end()) return i;
    const Event &event = events[i], &other = events[i - 1];
    const bool same = event.node == other.node && event.key == other.key && event.owner == other.owner &&
                      event.time_ns == other.time_ns && events[answered].time_ns == event.time_ns;
    return same ? before->second : i;
  };
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
    if (entry.f == Function::store_grant && entry.answered != kNowhere) {
      entry.forwarded = forwarded(i, entry.answered);
      forwarded_of[entry.answered] = entry.forwarded;
    }
    ledger[{event.node, event.key}].push_back(entry);
  }
  for (auto& [place, entries] : ledger) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const TruthEntry& a, const TruthEntry& b) { return a.forwarded < b.forwarded; });
  }
  return ledger;
}

}  // namespace holdfast::checker
