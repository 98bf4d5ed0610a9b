#include "checker/checks/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

// Which grants were contended: somebody held the key or waited for it when the grant was asked for, or
// somebody else asked for it before the grant returned.
class Contention {
 public:
  explicit Contention(const History& history)
      : present_(history.symbols(), 0), arrivals_(history.symbols(), 0) {}

  void invoked(Symbol key, std::size_t position) {
    met_[position] = {present_[key] > 0, arrivals_[key] + 1};
    ++present_[key];
    ++arrivals_[key];
  }
  void failed(Symbol key, std::size_t invoked) {
    --present_[key];
    met_.erase(invoked);
  }
  // True: the grant was contended. Its process counts as present until ended().
  bool granted(Symbol key, std::size_t invoked) {
    const auto found = met_.find(invoked);
    if (found == met_.end()) return false;
    const bool met = found->second.first || arrivals_[key] != found->second.second;
    met_.erase(found);
    return met;
  }
  void ended(Symbol key) { --present_[key]; }

 private:
  std::vector<int> present_;             // by key: how many ask for it or hold it
  std::vector<std::uint64_t> arrivals_;  // by key: how many have asked for it so far
  std::map<std::size_t, std::pair<bool, std::uint64_t>> met_;
};

}  // namespace

Summary summarize(const History& history, bool reentrant) {
  const auto& events = history.events();
  const Pairs pairs = pair_events(history);
  const std::vector<Hold> holds = build_holds(history, pairs, reentrant);
  Summary summary;
  std::int64_t last_ns = events.empty() ? 0 : events.front().time_ns;
  for (const Event& event : events) last_ns = std::max(last_ns, event.time_ns);
  if (!events.empty()) summary.length_ns = last_ns - events.front().time_ns;

  std::map<std::size_t, std::size_t> hold_of, end_of;  // by position
  for (std::size_t i = 0; i < holds.size(); ++i) {
    hold_of[holds[i].acquired] = i;
    if (holds[i].ended != kNowhere && holds[i].end != HoldEnd::crashed) end_of[holds[i].ended] = i;
  }
  Contention contention(history);
  std::vector<bool> contended(holds.size(), false);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.type == EventType::invoke && pairs.other[i] == kNowhere) {
      ++summary.operations[std::string(to_string(event.f))]["pending"];
    } else if (event.type != EventType::invoke && event.f < Function::store_grant) {
      ++summary.operations[std::string(to_string(event.f))][std::string(to_string(event.type))];
    }
    if (event.f == Function::renew && event.type == EventType::ok) ++summary.renewals;
    if (event.f == Function::lost) ++summary.losses;
    if (event.f == Function::fault && event.value != 0) ++summary.faults;
    if (event.f == Function::crash) ++summary.crashes;
    if (event.f == Function::acquire) {
      if (event.type == EventType::invoke) {
        contention.invoked(event.key, i);
      } else if (pairs.other[i] != kNowhere) {
        const auto hold = hold_of.find(i);
        if (hold != hold_of.end()) {
          contended[hold->second] = contention.granted(event.key, pairs.other[i]);
        } else {
          contention.failed(event.key, pairs.other[i]);  // refused, unknown, or deeper into what it holds
        }
      }
    }
    if (const auto hold = end_of.find(i); hold != end_of.end()) contention.ended(event.key);
  }
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const Hold& hold = holds[i];
    const std::int64_t to_ns = std::min(hold.to_ns, last_ns);
    const std::int64_t claimed_ns =
        hold.has_claim() ? std::max<std::int64_t>(0, std::min(hold.claim_to_ns(), last_ns) - hold.from_ns)
                         : 0;
    const std::int64_t wait_ns = hold.invoked == kNowhere ? 0 : hold.from_ns - events[hold.invoked].time_ns;
    for (KeySummary* each : {&summary.keys[std::string(history.text(hold.key))], &summary.total}) {
      ++each->grants;
      each->contended_grants += contended[i] ? 1 : 0;
      each->held_ns += to_ns - hold.from_ns;
      each->claimed_ns += claimed_ns;
      each->longest_wait_ns = std::max(each->longest_wait_ns, wait_ns);
    }
  }
  return summary;
}

std::string to_string(const Summary& summary) {
  std::string out = "operations  ";
  std::string separator;
  for (const auto& [function, outcomes] : summary.operations) {
    out += separator + function;
    for (const auto& [outcome, count] : outcomes) out += fmt::format(" {} {}", count, outcome);
    separator = " · ";
  }
  const auto line = [](const KeySummary& key) {
    return fmt::format("{} grants, {} contended, held {} ms, claimed {} ms, longest wait {} ms", key.grants,
                       key.contended_grants, format_ms(key.held_ns), format_ms(key.claimed_ns),
                       format_ms(key.longest_wait_ns));
  };
  out += "\nlocks       " + line(summary.total) + "\n";
  if (summary.renewals + summary.losses + summary.faults + summary.crashes > 0) {
    out += fmt::format("            {} renewals, {} losses told, {} faults, {} clients died\n",
                       summary.renewals, summary.losses, summary.faults, summary.crashes);
  }
  std::size_t told = 0;
  if (summary.keys.size() > 1) {
    for (const auto& [name, key] : summary.keys) {
      if (told++ == 10) {
        out += fmt::format("            and {} keys more\n", summary.keys.size() - 10);
        break;
      }
      out += "  " + name + ": " + line(key) + "\n";
    }
  }
  return out;
}

}  // namespace holdfast::checker
