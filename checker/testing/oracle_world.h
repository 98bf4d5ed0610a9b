// Holds of a drawn history, by the table of checker/HISTORY.md. For oracle_truth.h alone.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checker/testing/oracle_truth.h"

namespace holdfast::checker::oracle {

inline constexpr std::int64_t kNever = INT64_MAX;

struct Hold {
  std::string key, owner, client, id, process;
  bool shared = false;
  std::int64_t permits = 1, depth = 1;
  std::int64_t asked = 0, from = 0, to = kNever;  // times
  int asked_at = 0, from_at = 0, to_at = -1;      // places
  bool released = false, ended_as_told = false;   // else it never ended
  std::optional<std::int64_t> granted_until, until;
  std::string token;
  int writer = -1;  // whose owner wrote when it began to read: the place at which it began to write
  // The end of what was promised; REQUIRES: until.
  std::int64_t claim_to() const { return std::max(from, std::min(*until, to)); }
  bool expired() const { return granted_until && *granted_until <= from; }
};

struct Step {
  std::int64_t time = 0;
  int place = 0;
  bool asks = false;  // an invocation
  const Act* act = nullptr;
};

// A release that names what its owner never acquired: it gives back nothing.
inline bool is_foreign(const Drawn& drawn, const Act& release) {
  if (release.f != "release" || release.id.empty()) return false;
  return std::none_of(drawn.acts.begin(), drawn.acts.end(), [&](const Act& act) {
    return act.f == "acquire" && act.key == release.key && act.owner == release.owner &&
           (act.answer == Answer::unknown ||
            (act.answer == Answer::ok && (act.id.empty() || act.id == release.id)));
  });
}

// Everything that happened to locks, one event after another.
class World {
 public:
  // `sessions`: in Jepsen's formats an unknown outcome is the crash of its client, too.
  World(const Drawn& drawn, const Telling& telling, bool sessions = false)
      : drawn_(drawn), telling_(telling), by_unknown_(sessions && telling.jepsen) {
    std::vector<Step> steps;
    for (const Act& act : drawn.acts) {
      if (!act.single) steps.push_back({call(act), act.called, true, &act});
      if (act.returned >= 0) steps.push_back({ret(act), act.returned, false, &act});
    }
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.place < b.place; });
    for (const Step& step : steps) take(step);
  }
  std::vector<Hold> holds;
  std::vector<const Act*> unheld;  // releases that succeeded, of who had nothing to release

  std::int64_t call(const Act& act) const { return telling_.times ? act.call : act.called; }
  std::int64_t ret(const Act& act) const { return telling_.times ? act.ret : act.returned; }

 private:
  void take(const Step& step) {
    const Act& act = *step.act;
    if (by_unknown_ && !step.asks && act.answer == Answer::unknown) crash(act);
    if (act.f == "acquire") {
      if (step.asks && act.answer != Answer::fail) to_release_[{act.key, act.owner}] += act.permits;
      if (!step.asks && act.answer == Answer::ok) granted(act);
    } else if (act.f == "release") {
      if (step.asks) release(act);
      if (!step.asks && act.answer == Answer::ok) {
        std::int64_t& left = to_release_[{act.key, act.owner}];
        if (left < act.permits || is_foreign(drawn_, act)) {
          unheld.push_back(&act);
        } else {
          left -= act.permits;
        }
      }
    } else if (act.f == "renew") {
      if (!step.asks && act.answer == Answer::ok && act.valid_until) renewed(act);
    } else if (act.f == "lost") {
      for (Hold* hold : of_client(act)) end(*hold, ret(act), act.returned, true);
    } else if (act.f == "crash") {
      crash(act);
    }
  }

  void crash(const Act& act) {
    for (Hold& hold : holds) {
      if (hold.to_at < 0 && hold.client == act.client) end(hold, ret(act), act.returned, true);
    }
  }

  static void end(Hold& hold, std::int64_t time, int place, bool told) {
    hold.to = std::max(hold.from, time);
    hold.to_at = place;
    (told ? hold.ended_as_told : hold.released) = true;
  }

  // The newest open hold that fits, if possible of that mode.
  Hold* find(const Act& act, bool any_id) {
    Hold* found = nullptr;
    for (std::size_t i = holds.size(); i-- > 0;) {
      Hold& hold = holds[i];
      if (hold.to_at >= 0 || hold.key != act.key || hold.owner != act.owner) continue;
      if (!any_id && !act.id.empty() && !hold.id.empty() && act.id != hold.id) continue;
      if (hold.shared == act.shared) return &hold;
      if (found == nullptr) found = &hold;
    }
    return found;
  }
  // For what comes from anywhere in the client.
  std::vector<Hold*> of_client(const Act& act) {
    for (std::size_t i = holds.size(); i-- > 0;) {
      Hold& hold = holds[i];
      if (hold.to_at >= 0 || hold.key != act.key) continue;
      if (!act.id.empty() && !hold.id.empty() && act.id != hold.id) continue;
      if (act.names_owner ? hold.owner == act.owner : hold.client == act.client)
        return and_its_other(hold, act);
    }
    return {};
  }
  // Of a writer that reads, both holds: if they have the id that is named.
  std::vector<Hold*> and_its_other(Hold& hold, const Act& act) {
    std::vector<Hold*> both = {&hold};
    for (Hold& other : holds) {
      const bool same = other.writer == hold.from_at || hold.writer == other.from_at;
      if (same && other.to_at < 0 && !act.id.empty() && hold.id == act.id && other.id == act.id)
        both.push_back(&other);
    }
    return both;
  }

  void granted(const Act& act) {
    if (drawn_.reentrant) {
      Hold* const held = find(act, false);
      if (held != nullptr && held->shared == act.shared) {
        ++held->depth;
        if (act.valid_until) extend(*held, ret(act), *act.valid_until);
        return;
      }
    }
    Hold hold;
    hold.key = act.key;
    hold.owner = act.owner;
    hold.client = act.client;
    hold.process = act.process;
    hold.id = act.id;
    hold.shared = act.shared;
    hold.permits = act.permits;
    hold.asked = call(act);
    hold.from = ret(act);
    hold.asked_at = act.called;
    hold.from_at = act.returned;
    hold.granted_until = hold.until = act.valid_until;
    hold.token = act.token;
    const Hold* const mine = find(act, false);
    if (mine != nullptr && act.shared && !mine->shared) hold.writer = mine->from_at;
    holds.push_back(hold);
  }

  static void extend(Hold& hold, std::int64_t now, std::int64_t until) {
    if (hold.until && now <= *hold.until) hold.until = std::max(*hold.until, until);
  }
  void renewed(const Act& act) {
    for (Hold* const hold : of_client(act)) extend(*hold, ret(act), *act.valid_until);
  }

  void release(const Act& act) {
    const bool failed = act.answer == Answer::fail || act.answer == Answer::not_owner;
    if (failed && telling_.jepsen) return;
    Hold* hold = find(act, false);
    if (act.answer == Answer::not_owner) {
      if (hold == nullptr) return;
      for (Hold* const each : and_its_other(*hold, act)) end(*each, call(act), act.called, false);
      return;
    }
    for (std::int64_t left = act.permits; left > 0 && hold != nullptr; hold = find(act, true)) {
      if (hold->permits > left) {  // a part of it
        Hold rest = *hold;
        end(*hold, call(act), act.called, false);
        rest.permits -= left;
        rest.from = std::max(rest.from, call(act));
        holds.push_back(rest);
        return;
      }
      left -= hold->permits;
      if (--hold->depth == 0) end(*hold, call(act), act.called, false);
    }
  }

  const Drawn& drawn_;
  const Telling telling_;
  const bool by_unknown_;
  std::map<std::pair<std::string, std::string>, std::int64_t> to_release_;
};

// In oracle_orders.cc.
Truth linearizable(const Drawn& drawn, const Telling& telling);

}  // namespace holdfast::checker::oracle
