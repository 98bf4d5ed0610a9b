#include "checker/checks/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

// Which grants were contended: somebody held the key or waited for it when the grant was asked for, or
// somebody else asked for it before the grant returned.
class Contention {
 public:
  explicit Contention(const History& history)
      : present_(history.symbols(), 0),
        arrivals_(history.symbols(), 0),
        met_(history.events().size(), kNobody) {}

  void invoked(Symbol key, std::size_t position) {
    met_[position] = 2 * (arrivals_[key] + 1) + (present_[key] > 0 ? 1 : 0);
    ++present_[key];
    ++arrivals_[key];
  }
  void failed(Symbol key) { --present_[key]; }
  // True: the grant was contended. Its process counts as present until ended().
  bool granted(Symbol key, std::size_t invoked) {
    const std::uint64_t met = met_[invoked];
    return met != kNobody && (met % 2 == 1 || arrivals_[key] != met / 2);
  }
  void ended(Symbol key) { --present_[key]; }

 private:
  std::vector<int> present_;             // by key: how many ask for it or hold it
  std::vector<std::uint64_t> arrivals_;  // by key: how many have asked for it so far
  // By position of an acquire's invocation: twice the arrivals so far, and one more where somebody was there.
  std::vector<std::uint64_t> met_;
  static constexpr std::uint64_t kNobody = 0;
};

// How many operations ended how. The last column: they did not.
class Outcomes {
 public:
  void count(Function f, std::size_t column) { ++counts_[static_cast<std::size_t>(f)][column]; }
  void tell(Summary& summary) const {
    for (std::size_t f = 0; f < counts_.size(); ++f) {
      for (std::size_t column = 0; column <= kPending; ++column) {
        if (counts_[f][column] == 0) continue;
        summary.operations[std::string(to_string(static_cast<Function>(
            f)))][column == kPending ? "pending" : std::string(to_string(static_cast<EventType>(column)))] =
            counts_[f][column];
      }
    }
  }
  static constexpr std::size_t kPending = 4;

 private:
  std::array<std::array<std::uint64_t, kPending + 1>, static_cast<std::size_t>(Function::other) + 1>
      counts_{};
};

}  // namespace

Summary summarize(const History& history, bool reentrant) {
  const auto& events = history.events();
  const Pairs pairs = pair_events(history);
  const std::vector<Hold> holds = build_holds(history, pairs, reentrant);
  Summary summary;
  std::int64_t last_ns = events.empty() ? 0 : events.front().time_ns;
  std::vector<std::size_t> hold_of(events.size(), kNowhere);  // by position
  std::vector<bool> ends(events.size(), false);
  for (std::size_t i = 0; i < holds.size(); ++i) {
    hold_of[holds[i].acquired] = i;
    if (holds[i].ended != kNowhere && holds[i].end != HoldEnd::crashed) ends[holds[i].ended] = true;
  }
  Contention contention(history);
  Outcomes outcomes;
  std::vector<bool> contended(holds.size(), false);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    last_ns = std::max(last_ns, event.time_ns);
    if (event.type == EventType::invoke && pairs.other[i] == kNowhere) {
      outcomes.count(event.f, Outcomes::kPending);
    } else if (event.type != EventType::invoke &&
               (event.f < Function::store_grant || pairing_of(event.f) == Pairing::resource)) {
      outcomes.count(event.f, static_cast<std::size_t>(event.type));
    }
    if (event.f == Function::renew && event.type == EventType::ok) ++summary.renewals;
    if (event.f == Function::lost) ++summary.losses;
    if (event.f == Function::fault && event.value != 0) ++summary.faults;
    if (event.f == Function::crash) ++summary.crashes;
    if (event.f == Function::acquire) {
      if (event.type == EventType::invoke) {
        contention.invoked(event.key, i);
      } else if (pairs.other[i] != kNowhere) {
        if (hold_of[i] != kNowhere) {
          contended[hold_of[i]] = contention.granted(event.key, pairs.other[i]);
        } else {
          contention.failed(event.key);  // refused, unknown, or deeper into what it holds
        }
      }
    }
    if (ends[i]) contention.ended(event.key);
  }
  outcomes.tell(summary);
  if (!events.empty()) summary.length_ns = last_ns - events.front().time_ns;
  std::map<Symbol, KeySummary*> keys;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const Hold& hold = holds[i];
    const std::int64_t to_ns = std::min(hold.to_ns, last_ns);
    const std::int64_t claimed_ns =
        hold.has_claim() ? std::max<std::int64_t>(0, std::min(hold.claim_to_ns(), last_ns) - hold.from_ns)
                         : 0;
    const std::int64_t wait_ns = hold.invoked == kNowhere ? 0 : hold.from_ns - hold.invoked_ns;
    KeySummary*& key = keys[hold.key];
    if (key == nullptr) key = &summary.keys[std::string(history.text(hold.key))];
    for (KeySummary* each : {key, &summary.total}) {
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
