// at-rest: when the work is done and the faults are over, nothing is left of them. A client that comes then
// is granted the lock, all keys and all permits at once, within the time that it was ready to wait; no
// record of the lock stands without an expiry, for it would outlive whoever wrote it; and no server runs a
// script that does not end.
//
// That client has the name `rest`, a process for each permit. What it found on the servers are events of the
// function `left-behind`, process `rest`: `key` is the name in Redis, `node` the server, `mode` the type, or
// "script", without a key.
//
// If a fault on servers or the network never healed, or the run was ended by its time limit, what is left is
// `unknown`. Clients that died are what leases are for.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checker/checks/check_registry.h"
#include "checker/history/effects.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

class AtRest : public Check {
 public:
  std::string_view name() const override { return "at-rest"; }
  std::vector<std::string_view> kinds() const override { return {"not-free", "no-expiry", "endless-script"}; }
  std::string_view about() const override {
    return "after the work the lock is free, all permits are there, no record is without expiry, and no "
           "script goes on";
  }

  Verdict run(const History& history, const CheckContext&) const override {
    const auto& events = history.events();
    const Pairs pairs = pair_events(history);
    const Wording words(history);
    std::map<Symbol, Asked> by_key;
    Verdict verdict;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (client_of(history.text(event.process)) != kRestClient) continue;
      if (event.f == Function::acquire && event.type == EventType::invoke)
        by_key[event.key].add(events, i, pairs.other[i]);
      if (event.f != Function::other || history.text(event.error) != kLeftBehind) continue;
      ++verdict.violations;
      verdict.witnesses.push_back(left(words, event, i));
    }
    for (const auto& [key, asked] : by_key) {
      if (asked.granted == asked.all) continue;
      ++verdict.violations;
      verdict.witnesses.push_back(refused(words, key, asked));
    }
    if (by_key.empty()) {
      verdict = {};
      verdict.reason = "nobody asked for the lock after the work was done";
      return verdict;
    }
    const std::vector<Symbol> unhealed = unhealed_faults(history, Unhealed::others_than_clients);
    if (verdict.violations == 0) {
      verdict.outcome = Outcome::holds;
      verdict.reason = by_key.size() == 1 ? "1 key was free after the work"
                                          : fmt::format("{} keys were free after the work", by_key.size());
    } else if (!unhealed.empty()) {
      const std::string why = verdict.witnesses.front().why;
      verdict = {};
      verdict.reason = fmt::format("{} But the fault `{}` never healed.", why, words.text(unhealed.front()));
    } else {
      verdict.outcome = Outcome::violated;
      verdict.reason = verdict.witnesses.front().why;
    }
    return verdict;
  }

 private:
  // What `rest` asked for of one key.
  struct Asked {
    std::size_t all = 0, granted = 0;
    std::vector<std::size_t> refused = {};  // positions
    std::int64_t from_ns = 0, to_ns = 0;

    void add(const std::vector<Event>& events, std::size_t invoked, std::size_t answered) {
      if (all++ == 0) from_ns = events[invoked].time_ns;
      if (answered != kNowhere) to_ns = std::max(to_ns, events[answered].time_ns);
      if (answered != kNowhere && events[answered].type == EventType::ok) {
        ++granted;
        return;
      }
      refused.push_back(invoked);
      if (answered != kNowhere) refused.push_back(answered);
    }
  };

  static Witness refused(const Wording& words, Symbol key, const Asked& asked) {
    Witness witness;
    witness.kind = "not-free";
    witness.key = words.text(key);
    witness.events = asked.refused;
    std::sort(witness.events.begin(), witness.events.end());
    witness.from_ns = asked.from_ns;
    witness.to_ns = std::max(asked.from_ns, asked.to_ns);
    witness.why =
        asked.all == 1
            ? fmt::format("Nobody had {} any more, and who asked for it at {} was not granted it by {}.",
                          witness.key, words.time(witness.from_ns), words.time(witness.to_ns))
            : fmt::format(
                  "Nobody had a permit of {} any more, and of {} that were asked for at {} {} were "
                  "granted by {}.",
                  witness.key, asked.all, words.time(witness.from_ns), asked.granted,
                  words.time(witness.to_ns));
    return witness;
  }

  static Witness left(const Wording& words, const Event& event, std::size_t position) {
    Witness witness;
    const bool script = words.text(event.mode) == kScript;
    witness.kind = script ? "endless-script" : "no-expiry";
    witness.key = words.text(event.key);
    witness.events = {position};
    witness.from_ns = witness.to_ns = event.time_ns;
    if (script) {
      witness.why = fmt::format("After the work {} runs a script that does not end, and answers nobody.",
                                words.text(event.node));
      return witness;
    }
    witness.why = fmt::format("After the work {} stands on {} ({}) without an expiry: nothing removes it.",
                              witness.key, words.text(event.node), words.text(event.mode));
    return witness;
  }
};

}  // namespace

const Check& at_rest_check() {
  static const AtRest check;
  return check;
}

}  // namespace holdfast::checker
