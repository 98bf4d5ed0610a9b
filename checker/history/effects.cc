#include "checker/history/effects.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace holdfast::checker {

namespace {

constexpr std::array<std::string_view, 10> kNames = {"paused",        "resumed",     "crashed", "restarted",
                                                     "promoted",      "demoted",     "lagging", "caught-up",
                                                     "clock-stepped", "clock-drifts"};
static_assert(static_cast<std::size_t>(Effect::clock_drifts) + 1 == kNames.size());

constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

// "c1" of "c1/0#2" and of "c1/watchdog"
std::string_view without_role(std::string_view process) { return process.substr(0, process.find('/')); }

std::set<Symbol> acts_on_clients_alone(const History& history) {
  std::set<std::string_view> clients;
  for (const Event& event : history.events()) {
    if (event.f == Function::acquire) clients.insert(without_role(history.text(event.process)));
  }
  std::set<Symbol> on_clients, on_others;
  for (const Event& event : history.events()) {
    if (event.f != Function::effect) continue;
    (clients.contains(without_role(history.text(event.node))) ? on_clients : on_others).insert(event.id);
  }
  for (const Symbol act : on_others) on_clients.erase(act);
  return on_clients;
}

}  // namespace

std::string_view to_string(Effect effect) { return kNames[static_cast<std::size_t>(effect)]; }

bool parse(std::string_view text, Effect& out) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end()) return false;
  out = static_cast<Effect>(found - kNames.begin());
  return true;
}

bool effect_of(const History& history, const Event& event, Effect& out) {
  return event.f == Function::effect && parse(history.text(event.mode), out);
}

bool changes_stores(Effect effect) {
  switch (effect) {
    case Effect::crashed:
    case Effect::restarted:
    case Effect::promoted:
    case Effect::demoted:
    case Effect::lagging:
    case Effect::caught_up: return true;
    case Effect::paused:
    case Effect::resumed:
    case Effect::clock_stepped:
    case Effect::clock_drifts: return false;
  }
  return true;
}

std::vector<Symbol> unhealed_faults(const History& history, Unhealed which) {
  std::set<std::pair<Symbol, Symbol>> unhealed;  // the act and its fault
  for (const Event& event : history.events()) {
    if (event.f != Function::fault) continue;
    const std::pair act(event.id, event.key != 0 ? event.key : event.error);
    if (event.value == 0) {
      unhealed.erase(act);
    } else if (history.text(event.mode) != kAtOnce) {
      unhealed.insert(act);
    }
  }
  std::map<Symbol, std::set<Symbol>> killed_by;  // party -> acts
  for (const Event& event : history.events()) {
    Effect effect{};
    if (!effect_of(history, event, effect)) continue;
    if (effect == Effect::crashed) killed_by[event.node].insert(event.id);
    if (effect != Effect::restarted) continue;
    for (const Symbol act : killed_by[event.node]) {
      std::erase_if(unhealed, [act](const auto& one) { return one.first != 0 && one.first == act; });
    }
    killed_by.erase(event.node);
  }
  if (which == Unhealed::others_than_clients) {
    const std::set<Symbol> of_clients = acts_on_clients_alone(history);
    std::erase_if(unhealed, [&](const auto& one) { return of_clients.contains(one.first); });
  }
  std::vector<Symbol> faults;
  for (const auto& [act, fault] : unhealed) faults.push_back(fault);
  return faults;
}

Pauses::Pauses(const History& history) {
  struct Open {
    Symbol party, act;
    std::int64_t begin_ns;
  };
  std::vector<Open> open;
  const auto close = [&](std::int64_t end_ns, const auto& which) {
    for (auto at = open.begin(); at != open.end();) {
      if (!which(*at)) {
        ++at;
        continue;
      }
      intervals_[std::string(history.text(at->party))].emplace_back(at->begin_ns, end_ns);
      at = open.erase(at);
    }
  };
  for (const Event& event : history.events()) {
    if (event.f == Function::crash) {
      close(event.time_ns, [&](const Open& one) { return one.party == event.process; });
    }
    Effect effect{};
    if (!effect_of(history, event, effect)) continue;
    if (effect == Effect::paused) open.push_back({event.node, event.id, event.time_ns});
    if (effect == Effect::resumed) {
      close(event.time_ns, [&](const Open& one) { return one.party == event.node && one.act == event.id; });
    }
  }
  close(kOpen, [](const Open&) { return true; });
  for (auto& [party, intervals] : intervals_) std::sort(intervals.begin(), intervals.end());
}

std::int64_t Pauses::has_run(std::string_view party, std::int64_t time_ns, std::int64_t running_ns) const {
  if (const auto found = intervals_.find(party); found != intervals_.end()) {
    for (const auto& [begin_ns, end_ns] : found->second) {
      if (end_ns <= time_ns) continue;
      if (begin_ns > time_ns) {
        if (begin_ns - time_ns >= running_ns) break;
        running_ns -= begin_ns - time_ns;
      }
      time_ns = end_ns;
    }
  }
  return time_ns > kOpen - running_ns ? kOpen : time_ns + running_ns;
}

}  // namespace holdfast::checker
