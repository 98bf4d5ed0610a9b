// progress: after the last fault healed, a key that no live client holds, and that somebody waits for, is
// granted within the longest lease left plus the scenario's bound; a release returns within that time; and no
// owners wait for each other in a circle (a deadlock), or an owner for itself, for longer than that.
//
// An orphan may still occupy a free key: a grant whose client died, or whose reply was lost. It lasts for a
// lease at most, since nobody renews it. So the clock starts at the last of these: the last fault, the end of
// the last hold, the beginning of the wait. Who gives up or gets an error, and asks again, goes on waiting;
// the time between its calls does not count. A hold whose thread told that it leaves it (`leave`) ends with
// what it was promised. A key that only readers hold is free for a reader, unless a writer waits, too. If a
// fault never healed, a stall is `unknown`. From the mark `liveness` on, what acts still is to be borne: the
// clock starts there, and does not wait for its end.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checker/checks/check_registry.h"
#include "checker/history/effects.h"
#include "checker/history/liveness.h"
#include "checker/holds/holds.h"
#include "checker/holds/wording.h"

namespace holdfast::checker {

namespace {

struct WaitChange {
  std::int64_t time_ns;
  int order;  // at equal times, what ends a stall comes first
  int holders, waiters;
  bool shared;  // it is readers who hold or wait
  bool granted;
};

// An acquire, from its invocation until it was answered, or its client died.
struct Ask {
  std::int64_t from_ns, to_ns;
  std::size_t invoked;
};

// A time in which a key could have been granted and was not, with the pauses in which nobody asked.
struct Stall {
  std::int64_t since_ns = 0, until_ns = 0;
  std::int64_t asked_ns = 0;  // without the pauses
  bool goes_on = false, beside_readers = false;

  void go_on_until(std::int64_t time_ns) {
    if (time_ns <= until_ns) return;
    asked_ns += time_ns - until_ns;
    until_ns = time_ns;
  }
};

// How many hold a key, and how many wait for it.
struct Crowd {
  int holders = 0, readers_inside = 0, waiters = 0, readers_waiting = 0;

  void change(const WaitChange& by) {
    holders += by.holders;
    waiters += by.waiters;
    if (!by.shared) return;
    readers_inside += by.holders;
    readers_waiting += by.waiters;
  }
  // Nobody excludes a reader.
  bool readers_only() const { return holders == readers_inside; }
  // Somebody waits, and nothing that is known stands in the way.
  bool stalled() const {
    if (waiters == 0) return false;
    return holders == 0 || (readers_only() && waiters == readers_waiting);
  }
  // What is known stands in the way of who waits, or would stand in the way of a reader.
  bool blocked() const { return waiters > 0 ? !stalled() : !readers_only(); }
};

class ProgressCheck : public Check {
 public:
  std::string_view name() const override { return "progress"; }
  std::vector<std::string_view> kinds() const override { return {"stall", "unsettled-call", "deadlock"}; }
  std::string_view about() const override {
    return "after the last fault, whoever waits for a free key is granted it in time";
  }
  Verdict run(const History& history, const CheckContext& context) const override {
    Run run(history, context);
    return run.judge();
  }

 private:
  class Run {
   public:
    Run(const History& history, const CheckContext& context)
        : history_(history),
          context_(context),
          words_(history),
          pairs_(pair_events(history)),
          pauses_(history) {
      end_ns_ = context.end_ns;
      if (!history.events().empty()) end_ns_ = std::max(end_ns_, history.events().back().time_ns);
      limit_ns_ = context.lease_ns + context.progress_bound_ns;
    }

    Verdict judge() {
      gather();
      if (acquires_ == 0) {
        verdict_.reason = "the history has no acquires";
        return verdict_;
      }
      for (auto& [key, changes] : by_key_) scan(key, changes);
      unsettled_releases();
      deadlocks();
      std::stable_sort(verdict_.witnesses.begin(), verdict_.witnesses.end(),
                       [](const Witness& a, const Witness& b) { return a.from_ns < b.from_ns; });
      const std::vector<Symbol> unhealed = borne_ ? std::vector<Symbol>{} : unhealed_faults(history_);
      if (verdict_.violations > 0 && !unhealed.empty()) {
        verdict_.outcome = Outcome::unknown;
        verdict_.reason = fmt::format("{} But the fault `{}` never healed.", verdict_.witnesses.front().why,
                                      words_.text(unhealed.front()));
        verdict_.witnesses.clear();
        verdict_.violations = 0;
      } else if (verdict_.violations > 0) {
        verdict_.outcome = Outcome::violated;
        verdict_.reason = verdict_.witnesses.front().why;
      } else if (!open_question_.empty()) {
        verdict_.reason = open_question_;
      } else {
        verdict_.outcome = Outcome::holds;
        verdict_.reason = fmt::format("{} acquires after the last fault, no wait for a free key was too long",
                                      acquires_after_);
      }
      return verdict_;
    }

   private:
    void gather() {
      const auto& events = history_.events();
      std::set<Symbol> before;  // acts that began before the mark
      for (const Event& event : events) {
        if (event.f == Function::mark && history_.text(event.key) == kLiveness) {
          borne_ = true;
          calm_ns_ = std::max(calm_ns_, event.time_ns);
        }
        if (event.f != Function::fault || (borne_ && before.contains(event.id))) continue;
        calm_ns_ = std::max(calm_ns_, event.time_ns);
        if (!borne_) before.insert(event.id);
      }
      const std::map<Symbol, Doing> doings = last_doings(history_);
      for (const Hold& hold : build_holds(history_, pairs_, context_.reentrant)) {
        auto& changes = by_key_[hold.key];
        changes.push_back({hold.from_ns, 0, 1, 0, hold.shared, true});
        std::int64_t to_ns = hold.to_ns;
        if (const auto last = doings.find(hold.id);
            to_ns == kForever && hold.has_claim() && last != doings.end() && last->second.left)
          to_ns = std::max(events[last->second.last].time_ns, hold.valid_until_ns);
        if (to_ns != kForever) changes.push_back({to_ns, 1, -1, 0, hold.shared, false});
      }
      std::map<std::string_view, std::vector<std::int64_t>> deaths;
      for (const Event& event : events) {
        if (event.f == Function::crash) {
          deaths[client_of(history_.text(event.process))].push_back(event.time_ns);
        }
      }
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].f != Function::acquire || events[i].type != EventType::invoke) continue;
        if (client_of(history_.text(events[i].process)) == kRestClient) continue;  // at-rest judges that wait
        ++acquires_;
        if (events[i].time_ns >= calm_ns_) ++acquires_after_;
        std::int64_t until_ns = pairs_.other[i] == kNowhere ? end_ns_ : events[pairs_.other[i]].time_ns;
        if (const auto dead = deaths.find(client_of(history_.text(events[i].process)));
            dead != deaths.end()) {
          for (const std::int64_t death_ns : dead->second) {
            if (death_ns >= events[i].time_ns) until_ns = std::min(until_ns, death_ns);
          }
        }
        auto& changes = by_key_[events[i].key];
        const bool reads = history_.text(events[i].mode) == "read";
        changes.push_back({events[i].time_ns, 1, 0, 1, reads, false});
        changes.push_back({until_ns, 2, 0, -1, reads, false});
        asks_[events[i].key].push_back({events[i].time_ns, until_ns, i});
      }
      deaths_ = std::move(deaths);
    }

    void scan(Symbol key, std::vector<WaitChange>& changes) {
      std::stable_sort(changes.begin(), changes.end(), [](const WaitChange& a, const WaitChange& b) {
        return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.order < b.order;
      });
      Crowd crowd;
      Stall now;
      for (const WaitChange& change : changes) {
        if (crowd.stalled()) {
          now.go_on_until(change.time_ns);
          judge(key, now, false);
        }
        crowd.change(change);
        if (change.granted || crowd.blocked()) now = {};
        if (crowd.stalled() && !now.goes_on) {
          if (now.asked_ns == 0) now.since_ns = std::max(calm_ns_, change.time_ns);
          now.until_ns = std::max(calm_ns_, change.time_ns);
        }
        now.goes_on = crowd.stalled();
        now.beside_readers = crowd.holders > 0;
      }
      if (!crowd.stalled()) return;
      now.go_on_until(end_ns_);
      judge(key, now, true);
    }

    void judge(Symbol key, const Stall& stall, bool at_end) {
      if (stall.asked_ns > limit_ns_) {
        if (reported_.insert({key, stall.since_ns}).second) report(key, stall);
      } else if ((at_end || stall.until_ns == end_ns_) && stall.asked_ns > 0 &&
                 !context_.run_ended_by_itself && open_question_.empty()) {
        open_question_ =
            fmt::format("the run ended when somebody had waited for {} for {}, of {} that are allowed",
                        words_.text(key), words_.duration(stall.asked_ns), words_.duration(limit_ns_));
      }
    }

    // As few calls as show the stall.
    std::vector<Ask> asks_of(Symbol key, const Stall& stall) const {
      std::vector<Ask> enough;
      const std::vector<Ask>& asks = asks_.at(key);
      std::int64_t covered_ns = 0, reached_ns = stall.since_ns;
      for (std::size_t i = 0; i < asks.size() && covered_ns <= limit_ns_;) {
        const Ask* longest = nullptr;
        for (; i < asks.size() && asks[i].from_ns <= reached_ns; ++i) {
          if (asks[i].to_ns > reached_ns && (longest == nullptr || asks[i].to_ns > longest->to_ns))
            longest = &asks[i];
        }
        if (longest == nullptr) {
          if (i < asks.size()) reached_ns = asks[i].from_ns;
          continue;
        }
        covered_ns += longest->to_ns - reached_ns;
        reached_ns = longest->to_ns;
        enough.push_back(*longest);
      }
      return enough;
    }

    void report(Symbol key, const Stall& stall) {
      ++verdict_.violations;
      Witness witness;
      witness.kind = "stall";
      witness.key = words_.text(key);
      witness.from_ns = stall.since_ns;
      witness.to_ns = stall.until_ns;
      const std::vector<Ask> asks = asks_of(key, stall);
      for (const Ask& ask : asks) {
        witness.events.push_back(ask.invoked);
        if (pairs_.other[ask.invoked] != kNowhere) witness.events.push_back(pairs_.other[ask.invoked]);
      }
      std::sort(witness.events.begin(), witness.events.end());
      const std::string who = words_.text(history_.events()[asks.front().invoked].process);
      const std::string again = asks.size() == 1
                                    ? who + " waited for it"
                                    : fmt::format("{} waited for it, in {} calls one after another",
                                                  one_asks(asks) ? who : who + " and others", asks.size());
      witness.why = fmt::format(
          "From {} on {} held {} and {}, but nobody was granted it within {} (lease {} + bound {}).",
          words_.time(stall.since_ns), stall.beside_readers ? "only readers" : "no live client", witness.key,
          again, words_.duration(limit_ns_), words_.duration(context_.lease_ns),
          words_.duration(context_.progress_bound_ns));
      verdict_.witnesses.push_back(std::move(witness));
    }

    bool one_asks(const std::vector<Ask>& asks) const {
      const auto process = [&](const Ask& ask) { return history_.events()[ask.invoked].process; };
      return std::all_of(asks.begin(), asks.end(),
                         [&](const Ask& ask) { return process(ask) == process(asks.front()); });
    }

    void unsettled_releases() {
      const auto& events = history_.events();
      for (std::size_t i = 0; i < events.size(); ++i) {
        const Event& event = events[i];
        if (event.f != Function::release || event.type != EventType::invoke) continue;
        const bool settled = pairs_.other[i] != kNowhere;
        const std::int64_t until_ns = settled ? events[pairs_.other[i]].time_ns : end_ns_;
        const std::int64_t since_ns = std::max(calm_ns_, event.time_ns);
        if (until_ns - since_ns <= limit_ns_) continue;
        const std::string_view client = client_of(history_.text(event.process));
        const auto dead = deaths_.find(client);
        if (dead != deaths_.end() && dead->second.back() >= event.time_ns) continue;
        if (pauses_.any(client)) continue;
        ++verdict_.violations;
        Witness witness;
        witness.kind = "unsettled-call";
        witness.key = words_.text(event.key);
        witness.from_ns = event.time_ns;
        witness.to_ns = until_ns;
        witness.events = {i};
        if (settled) witness.events.push_back(pairs_.other[i]);
        witness.why =
            fmt::format("The release of {} by {}, invoked at {}, did not settle within {}.", witness.key,
                        words_.text(event.process), words_.time(event.time_ns), words_.duration(limit_ns_));
        verdict_.witnesses.push_back(std::move(witness));
      }
    }

    // Who waits to the end of the run, and for what. An owner asks for one thing at a time.
    std::map<Symbol, std::size_t> waiting_owners() const {
      std::map<Symbol, std::size_t> waiting;  // owner -> invocation
      const auto& events = history_.events();
      for (std::size_t i = 0; i < events.size(); ++i) {
        const Event& event = events[i];
        if (event.f != Function::acquire || event.type != EventType::invoke) continue;
        if (pairs_.other[i] != kNowhere) continue;
        const auto dead = deaths_.find(client_of(history_.text(event.process)));
        if (dead != deaths_.end() && dead->second.back() >= event.time_ns) continue;
        waiting[event.owner != 0 ? event.owner : event.process] = i;
      }
      return waiting;
    }

    // Owners in a circle, each of which holds what the one before it waits for.
    void deadlocks() {
      const std::map<Symbol, std::size_t> waiting = waiting_owners();
      std::map<Symbol, const Hold*> held;  // key -> an open hold of somebody who waits
      const std::vector<Hold> holds = build_holds(history_, pairs_, context_.reentrant);
      for (const Hold& hold : holds) {
        if (hold.to_ns == kForever && waiting.contains(hold.owner)) held[hold.key] = &hold;
      }
      std::set<Symbol> seen;
      for (const auto& [first, invoked] : waiting) {
        std::vector<Symbol> path;
        Symbol owner = first;
        while (seen.insert(owner).second) {
          path.push_back(owner);
          const auto next = held.find(history_.events()[waiting.at(owner)].key);
          if (next == held.end()) break;
          owner = next->second->owner;
        }
        const auto begin = std::find(path.begin(), path.end(), owner);
        const bool alone = path.end() - begin == 1 && waits_for_itself(owner, waiting.at(owner), held, holds);
        if (path.end() - begin > 1 || alone) circle({begin, path.end()}, waiting, held);
      }
    }

    // It holds what it asked for then, and nobody else does to whom that could have gone.
    bool waits_for_itself(Symbol owner, std::size_t asked, const std::map<Symbol, const Hold*>& held,
                          const std::vector<Hold>& holds) const {
      const Event& event = history_.events()[asked];
      const auto own = held.find(event.key);
      if (context_.permits > 0 || own == held.end() || own->second->owner != owner) return false;
      return std::all_of(holds.begin(), holds.end(), [&](const Hold& hold) {
        return hold.key != event.key || hold.to_ns < event.time_ns ||
               (hold.owner == owner && hold.permits <= 1);
      });
    }

    void circle(const std::vector<Symbol>& owners, const std::map<Symbol, std::size_t>& waiting,
                const std::map<Symbol, const Hold*>& held) {
      const auto& events = history_.events();
      std::int64_t since_ns = calm_ns_;
      Witness witness;
      for (std::size_t i = 0; i < owners.size(); ++i) {
        const std::size_t asked = waiting.at(owners[i]);
        const Event& event = events[asked];
        since_ns = std::max(since_ns, event.time_ns);
        const auto blocker = held.find(event.key);
        if (blocker == held.end()) return;
        witness.events.push_back(asked);
        witness.events.push_back(blocker->second->acquired);
        witness.why +=
            fmt::format("{}{} waits for {}, which {} holds", i == 0 ? "" : "; ", words_.text(owners[i]),
                        words_.text(event.key), words_.text(blocker->second->owner));
        if (i == 0) witness.key = words_.text(event.key);
      }
      if (end_ns_ - since_ns <= limit_ns_) {
        if (open_question_.empty())
          open_question_ = "the run ended soon after a circle of waiters closed: " + witness.why;
        return;
      }
      ++verdict_.violations;
      witness.kind = "deadlock";
      witness.from_ns = since_ns;
      witness.to_ns = end_ns_;
      witness.why += fmt::format(": from {} on none of them could go on.", words_.time(since_ns));
      std::sort(witness.events.begin(), witness.events.end());
      verdict_.witnesses.push_back(std::move(witness));
    }

    const History& history_;
    const CheckContext& context_;
    const Wording words_;
    const Pairs pairs_;
    const Pauses pauses_;
    Verdict verdict_;
    std::map<Symbol, std::vector<WaitChange>> by_key_;
    std::map<Symbol, std::vector<Ask>> asks_;
    std::map<std::string_view, std::vector<std::int64_t>> deaths_;
    std::set<std::pair<Symbol, std::int64_t>> reported_;
    std::string open_question_;
    std::size_t acquires_ = 0, acquires_after_ = 0;
    std::int64_t calm_ns_ = 0, end_ns_ = 0, limit_ns_ = 0;
    bool borne_ = false;  // what still acts, since the mark `liveness`
  };
};

}  // namespace

const Check& progress_check() {
  static const ProgressCheck check;
  return check;
}

}  // namespace holdfast::checker
