#include "sim/hunt/shrink_hold_up.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "sim/client/run_events.h"
#include "sim/hunt/draw_case.h"
#include "sim/hunt/sent_commands.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/run.h"
#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

constexpr std::int64_t kFarthest = 8;  // of one command; who reads "nth = 40" learns nothing

Value until(RunEventKind kind) {
  Value event;
  set_key(event, "event", text_value(std::string(to_string(kind))));
  set_key(event, "delay", text_value("10ms"));
  return event;
}

using Ending = std::pair<const char*, Value>;  // "for" or "until", and what that says

// How long it may stand still.
std::vector<Ending> endings(const Scenario& scenario) {
  using enum RunEventKind;
  const std::vector<RunEventKind> events =
      scenario.lock->latch ? std::vector{latch_set, latch_counted, latch_opened}
                           : std::vector{lock_granted, lock_released, lock_requested, lock_renewed};
  const Duration lease = scenario.workload.lease;
  std::vector<Ending> all;
  for (const RunEventKind kind : events) all.emplace_back("until", until(kind));
  for (const Duration time : {lease / 2, lease, 2 * lease})
    all.emplace_back("for", text_value(format_duration(time)));
  return all;
}

std::string free_id(const Value& document) {
  const Value* const faults = document.find("fault");
  const auto taken = [&](const std::string& id) {
    return faults != nullptr && std::any_of(faults->items.begin(), faults->items.end(),
                                            [&](const Value& fault) { return fault.find("id")->text == id; });
  };
  for (int i = 1;; ++i) {
    const std::string id = "held-" + std::to_string(i);
    if (!taken(id)) return id;
  }
}

// `alone`: only this message, and what comes behind it on its connection.
Value hold(const std::string& id, bool alone, const std::string& command, bool reply, std::int64_t nth,
           const Ending& ending) {
  Value fault, after;
  set_key(after, "message", text_value(command));
  set_key(after, "phase", text_value(reply ? "reply" : "request"));
  set_key(after, "nth", integer_value(nth));
  set_key(fault, "id", text_value(id));
  set_key(fault, "kind", text_value(alone ? "hold-message" : "stall"));
  set_key(fault, alone ? "client" : "between", text_value(std::string(kEventClient)));
  if (alone)
    set_key(fault, "phase", text_value(reply ? "reply" : "request"));
  else
    set_key(fault, "direction", text_value(reply ? "backward" : "forward"));
  set_key(fault, "after", std::move(after));
  set_key(fault, ending.first, ending.second);
  return fault;
}

}  // namespace

Candidates held_up(const HuntCase& one) {
  SentCommands sent;
  std::vector<Ending> ends;
  try {
    const Scenario scenario = parse_base(one.document, "hunted");
    ends = endings(scenario);
    Decisions decisions(one.changes);
    run_once(scenario, {.seed = one.seed, .decisions = &decisions, .observer = &sent});
  } catch (const std::exception&) {
    return {};  // no command is known
  }
  Candidates out;
  const std::string id = free_id(one.document);
  for (const auto& [command, count] : sent.counts()) {
    for (std::int64_t nth = 1; nth <= std::min(count, kFarthest); ++nth) {
      for (const bool reply : {false, true}) {
        for (const Ending& ending : ends) {
          for (const bool alone : {true, false}) {
            Value with = one.document;
            tables_of(with, "fault").push_back(hold(id, alone, command, reply, nth, ending));
            put_in_order(with);
            out.push_back({std::move(with)});
          }
        }
      }
    }
  }
  return out;
}

}  // namespace holdfast::sim
