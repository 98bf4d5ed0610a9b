#include "checker/linearizability/extract_leases.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "checker/history/joiner.h"
#include "checker/holds/holds.h"
#include "checker/planted.h"

namespace holdfast::checker {

std::vector<KeyOperations> extract_leases(const History& history, const ExtractOptions& options) {
  std::vector<KeyOperations> result;
  std::vector<std::size_t> slot(history.symbols(), 0);
  const auto& events = history.events();
  const auto operations_of = [&](Symbol key) -> std::vector<Operation>& {
    if (slot[key] == 0) {
      result.push_back({key, {}});
      slot[key] = result.size();
    }
    return result[slot[key] - 1].operations;
  };
  Joiner joiner(history, true);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (pairing_of(events[i].f) != Pairing::lock) continue;
    const Joiner::Joined joined = joiner.take(events[i], i);
    if (joined.problem == Joiner::Problem::none) continue;
    const std::string open =
        joined.invocation == kNowhere ? std::string() : std::string(to_string(events[joined.invocation].f));
    throw HistoryError(describe(history, events[i], joined, open, joined.invocation), i);
  }
  const Pairs pairs = pair_events(history);
  for (std::size_t i = 0; options.resizes && i < events.size(); ++i) {
    const Event& event = events[i];
    const std::size_t other = pairs.other[i];
    if (event.f != Function::resize || (event.type != EventType::invoke && other != kNowhere)) continue;
    const EventType outcome = event.type != EventType::invoke ? event.type
                              : other == kNowhere             ? EventType::info
                                                              : events[other].type;
    if (outcome == EventType::fail) continue;
    Operation resize;
    resize.f = Function::resize;
    resize.value = event.value;
    resize.unknown = outcome == EventType::info;
    resize.invoked = i;
    resize.completed = event.type == EventType::invoke ? other : i;
    resize.call = event.time_ns;
    if (!resize.unknown) resize.ret = events[resize.completed].time_ns;
    operations_of(event.key).push_back(resize);
  }
  const Holds found = find_holds(
      history, pairs, {.reentrant = options.reentrant, .failed_release_ends = options.failed_release_ends});
  Symbol next = 1;
  std::map<Symbol, Symbol> changer;  // by process: its name here; its changes come in its own order
  for (KeyOperations& key : result) {
    for (Operation& resize : key.operations) {
      Symbol& name = changer[events[resize.invoked].process];
      if (name == 0 || HOLDFAST_PLANTED(changes_lose_their_order)) name = next++;
      resize.process = resize.owner = name;
    }
  }
  // By key and owner: of the hold that ends last of those so far.
  struct Longest {
    std::int64_t to_ns = 0;
    Symbol name = 0;
  };
  std::map<std::pair<Symbol, Symbol>, Longest> longest;
  for (const Hold& hold : found.holds) {
    std::vector<Operation>& operations = operations_of(hold.key);
    Operation acquire;
    acquire.f = Function::acquire;
    acquire.shared = hold.shared;
    acquire.permits = hold.permits;
    acquire.process = next++;
    const std::int64_t to_ns =
        std::max(hold.from_ns,
                 hold.has_claim() && !HOLDFAST_PLANTED(leases_do_not_end) ? hold.claim_to_ns() : hold.to_ns);
    Longest& before = longest[{hold.key, hold.owner}];
    const bool under = hold.shared && before.name != 0 && before.to_ns > hold.from_ns;
    acquire.owner = under ? before.name : acquire.process;
    if (before.name == 0 || to_ns > before.to_ns) before = {to_ns, acquire.owner};
    acquire.token = hold.token;
    acquire.invoked = hold.invoked == kNowhere ? hold.acquired : hold.invoked;
    acquire.completed = hold.acquired;
    acquire.call = events[acquire.invoked].time_ns;
    acquire.ret = hold.from_ns;
    acquire.unknown = false;
    Operation release = acquire;
    release.f = Function::release;
    release.unknown = true;
    release.call = to_ns;
    release.ret = kForever;
    release.completed = hold.ended == kNowhere ? hold.acquired : hold.ended;
    operations.push_back(acquire);
    if (release.call != kForever) operations.push_back(release);
  }
  for (const std::size_t position : found.unheld) {
    Operation release;
    release.f = Function::release;
    release.process = release.owner = next++;
    release.completed = position;
    release.invoked = pairs.other[position] == kNowhere ? position : pairs.other[position];
    release.call = events[release.invoked].time_ns;
    release.ret = events[position].time_ns;
    operations_of(events[position].key).push_back(release);
  }
  for (KeyOperations& key : result) {
    std::stable_sort(key.operations.begin(), key.operations.end(),
                     [](const Operation& a, const Operation& b) { return a.call < b.call; });
    std::vector<Value*> tokens;
    for (Operation& each : key.operations) tokens.push_back(&each.token);
    if (const auto no_number = history.rank(tokens)) key.unordered = *no_number;
  }
  return result;
}

}  // namespace holdfast::checker
