#include "checker/checks/truth_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checker/checks/truth_ledger.h"
#include "checker/history/effects.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {
namespace {

// A command changed the number. `permits` above 0: so many were given back, else taken.
struct Change {
  std::size_t position = kNowhere;
  std::int64_t permits = 0;
  bool set = false;  // there was no number: it may have been set
  bool named = false;
};

class Counts {
 public:
  Counts(const History& history, const CheckContext& context)
      : history_(history),
        words_(history),
        holds_(build_holds(history, context.reentrant)),
        ledger_(read_truth_ledger(history)) {
    truth_.watched = true;
  }

  Truth run() {
    for (std::size_t i = 0; i < history_.events().size(); ++i) read(i);
    begin_claims();
    for (auto& [place, changes] : changes_) {
      if (!ledger_.empty()) judge_ledger(place, changes);
    }
    for (const auto& [place, entries] : ledger_) {
      if (!changes_.contains(place)) tell_unshown(place);
    }
    judge_claims();
    std::stable_sort(truth_.wrong.begin(), truth_.wrong.end(),
                     [](const Witness& a, const Witness& b) { return a.from_ns < b.from_ns; });
    return std::move(truth_);
  }

 private:
  // The number of a place from a position on.
  struct Free {
    std::size_t from = 0;
    std::optional<std::int64_t> permits;  // nullopt: there is no number
    bool by_fault = false;                // a fault changed it since the beginning
    std::int64_t given_back = 0;          // by commands, so far
  };

  const Event& at(std::size_t position) const { return history_.events()[position]; }

  void read(std::size_t i) {
    const Event& event = at(i);
    if (event.f == Function::resize && event.type == EventType::ok)
      limit_[event.key] = event.value.number_or(0);
    if (Effect effect{}; effect_of(history_, event, effect) && effect == Effect::crashed)
      empty(event.node, i);
    if (event.f != Function::other) return;
    const std::string_view name = history_.text(event.error);
    if (name == kKeyspace) {
      if (!nodes_.insert(event.node).second) empty(event.node, i);
    } else if (name == kRecord) {
      changed(i);
    }
  }

  std::vector<Free>& numbers(const Place& place) {
    std::vector<Free>& all = free_[place];
    if (all.empty()) all.push_back(Free());
    return all;
  }

  void empty(Symbol node, std::size_t i) {
    for (auto& [place, all] : free_) {
      if (place.first != node) continue;
      all.push_back(
          {.from = i, .permits = std::nullopt, .by_fault = true, .given_back = all.back().given_back});
    }
  }

  void changed(std::size_t i) {
    const Event& event = at(i);
    const Place place{event.node, event.key};
    std::vector<Free>& all = numbers(place);
    Free now = all.back();
    now.from = i;
    now.permits.reset();
    if (event.value == 1) now.permits = event.permits;
    const bool commanded = history_.text(event.process).starts_with(kByCommand);
    if (commanded) {
      const Change change{.position = i,
                          .permits = now.permits.value_or(0) - all.back().permits.value_or(0),
                          .set = !all.back().permits.has_value()};
      if (change.permits > 0) now.given_back += change.set ? 0 : change.permits;
      if (change.permits != 0 || change.set) changes_[place].push_back(change);
    } else if (i > 0 && now.permits != all.back().permits) {
      now.by_fault = true;
    }
    all.push_back(now);
  }

  // --- the ledger ----------------------------------------------------------------------------------------

  static std::int64_t change_of(const TruthEntry& entry) {
    return entry.f == Function::store_grant ? -std::int64_t{entry.permits} : std::int64_t{entry.permits};
  }

  // Each change is one command's, and each command that had its effect made one. In order of the changes, the
  // command that is answered first goes first: if there is any assignment, this finds one.
  void judge_ledger(const Place& place, std::vector<Change>& changes) {
    std::vector<TruthEntry>& entries = ledger_[place];
    std::vector<bool> used(entries.size(), false);
    const auto take = [&](const Change& change, bool some) {
      std::size_t best = entries.size();
      for (std::size_t e = 0; e < entries.size(); ++e) {
        const TruthEntry& entry = entries[e];
        if (used[e] || entry.none || entry.some != some || !entry.covers(change.position)) continue;
        if (change_of(entry) != change.permits) continue;
        if (best == entries.size() || entry.answered < entries[best].answered) best = e;
      }
      if (best == entries.size()) return false;
      return static_cast<bool>(used[best] = true);
    };
    for (Change& change : changes) {
      if (change.set && change.permits == limit_[place.second]) continue;  // maybe set by who came first
      change.named = take(change, true) || take(change, false);
      if (change.named) continue;
      const bool taken = change.permits < 0;
      wrong(taken ? "unnamed-grant" : "unnamed-removal", change.position,
            fmt::format("{} permits of {} were {} on {} at {}, and the ledger names no such command.",
                        std::abs(change.permits), words_.text(place.second), taken ? "taken" : "given back",
                        words_.text(place.first), words_.time(at(change.position).time_ns)));
    }
    for (const Change& change : changes) {
      if (!change.named && change.set) take(change, true);
    }
    for (std::size_t e = 0; e < entries.size(); ++e) {
      if (entries[e].some && !used[e]) unshown(place, entries[e]);
    }
  }
  void tell_unshown(const Place& place) {
    if (!nodes_.contains(place.first)) return;
    for (const TruthEntry& entry : ledger_[place]) {
      if (entry.some) unshown(place, entry);
    }
  }
  void unshown(const Place& place, const TruthEntry& entry) {
    wrong("ledger-wrong", entry.forwarded,
          fmt::format("The ledger says that a command of {} at {} {} {} permits of {} on {}, and the number "
                      "there shows no such change.",
                      words_.text(entry.client), words_.time(at(entry.forwarded).time_ns),
                      entry.f == Function::store_grant ? "took" : "gave back", entry.permits,
                      words_.text(place.second), words_.text(place.first)));
  }

  // --- claims --------------------------------------------------------------------------------------------

  enum class Why { stands, fault, others, wrong };
  struct Claim {
    const Hold* hold;
    Why worst = Why::stands;
  };

  void begin_claims() {
    std::map<Symbol, std::set<Symbol>> nodes_of_key;
    for (const Hold& hold : holds_) {
      if (!hold.has_claim() || hold.claim_to_ns() <= hold.from_ns) continue;
      ++truth_.claims;
      if (hold.node == 0 && nodes_.size() > 1) {
        ++truth_.unplaced;
        continue;
      }
      const Symbol node = hold.node != 0 ? hold.node : *nodes_.begin();
      claims_[{node, hold.key}].push_back({&hold});
      nodes_of_key[hold.key].insert(node);
    }
    for (const auto& [key, nodes] : nodes_of_key) truth_.lineages += nodes.size() > 1 ? 1 : 0;
  }

  void judge_claims() {
    for (auto& [place, claims] : claims_) {
      const std::vector<Free>& all = numbers(place);
      for (const Free& free : all) look(place, claims, free, free.from);
      for (const Claim& claim : claims) {
        const auto after =
            std::upper_bound(all.begin(), all.end(), claim.hold->acquired,
                             [](std::size_t position, const Free& free) { return position < free.from; });
        look(place, claims, *std::prev(after), claim.hold->acquired);
      }
      for (const Claim& claim : claims) {
        truth_.stood += claim.worst == Why::stands ? 1 : 0;
        truth_.by_fault += claim.worst == Why::fault ? 1 : 0;
        truth_.by_others += claim.worst == Why::others ? 1 : 0;
      }
    }
  }

  // At that position no more permits may be claimed than are taken. What is missing a fault took away, or
  // somebody gave back more than it held.
  void look(const Place& place, std::vector<Claim>& claims, const Free& free, std::size_t position) {
    const std::int64_t now_ns = at(position).time_ns, limit = limit_[place.second];
    std::int64_t claimed = 0, ended = 0;
    std::vector<Claim*> active;
    for (Claim& claim : claims) {
      const Hold& hold = *claim.hold;
      if (hold.ended != kNowhere && hold.ended <= position) ended += hold.permits;
      if (hold.acquired > position || hold.claim_to_ns() <= now_ns) continue;
      claimed += hold.permits;
      active.push_back(&claim);
    }
    const std::int64_t missing = claimed - std::max<std::int64_t>(0, limit - free.permits.value_or(limit));
    if (missing <= 0) return;
    const Why why = free.by_fault                        ? Why::fault
                    : missing <= free.given_back - ended ? Why::others
                                                         : Why::wrong;
    for (Claim* const claim : active) claim->worst = std::max(claim->worst, why);
    if (why != Why::wrong || told_.contains(place)) return;
    told_.insert(place);
    const Hold& last = *active.back()->hold;
    wrong("no-record", last.acquired,
          fmt::format("{} permits of {} were claimed at {}, the last by {}, and {} counted {} of {} as free.",
                      claimed, words_.text(place.second), words_.time(now_ns), words_.grant(last),
                      words_.text(place.first), free.permits.value_or(limit), limit));
  }

  void wrong(std::string kind, std::size_t position, std::string why) {
    truth_.wrong.push_back(witness_at(history_, std::move(kind), position, std::move(why)));
  }

  const History& history_;
  const Wording words_;
  const std::vector<Hold> holds_;
  TruthLedger ledger_;
  Truth truth_;
  std::set<Symbol> nodes_;
  std::set<Place> told_;  // one witness a place is enough: the others follow from it
  std::map<Symbol, std::int64_t> limit_;
  std::map<Place, std::vector<Free>> free_;
  std::map<Place, std::vector<Change>> changes_;
  std::map<Place, std::vector<Claim>> claims_;
};

}  // namespace

bool counts_permits(const History& history) {
  return std::any_of(history.events().begin(), history.events().end(), [&](const Event& event) {
    return event.f == Function::other && history.text(event.error) == kKeyspace &&
           history.text(event.mode) == kOfFreePermits;
  });
}

Truth compare_counts(const History& history, const CheckContext& context) {
  return Counts(history, context).run();
}

}  // namespace holdfast::checker
