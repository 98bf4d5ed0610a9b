#include "sim/hunt/shrink_triggers.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sim/client/run_events.h"
#include "sim/fault/fault.h"
#include "sim/hunt/sent_commands.h"
#include "sim/scenario/parse_scenario.h"
#include "sim/scenario/run.h"
#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

using checker::Event;
using checker::EventType;
using checker::Function;
using checker::History;

constexpr std::int64_t kFarthest = 12;  // who reads "nth = 40" learns nothing

// The event of a run that this one is the trace of.
std::optional<RunEventKind> run_event(const Event& event) {
  const bool ok = event.type == EventType::ok;
  switch (event.f) {
    case Function::acquire:
      return event.type == EventType::invoke ? std::optional(RunEventKind::lock_requested)
             : ok                            ? std::optional(RunEventKind::lock_granted)
                                             : std::nullopt;
    case Function::release:
      return event.type == EventType::invoke ? std::optional(RunEventKind::lock_releasing)
             : ok                            ? std::optional(RunEventKind::lock_released)
                                             : std::nullopt;
    case Function::renew: return ok ? std::optional(RunEventKind::lock_renewed) : std::nullopt;
    case Function::lost: return RunEventKind::lock_lost;
    case Function::crash: return RunEventKind::client_crashed;
    default: return std::nullopt;
  }
}

struct Happened {
  RunEventKind kind;
  std::int64_t at_ns;
};

// One leading digit: what a person would write.
Duration rounded(Duration time) {
  std::int64_t unit = 1;
  while (time.count() / unit >= 10) unit *= 10;
  return Duration((time.count() + unit / 2) / unit * unit);
}

Value event_table(RunEventKind kind, std::int64_t nth, Duration delay) {
  Value after;
  set_key(after, "event", text_value(std::string(to_string(kind))));
  set_key(after, "nth", integer_value(nth));
  if (delay.count() > 0) set_key(after, "delay", text_value(format_duration(delay)));
  return after;
}

class Triggers {
 public:
  explicit Triggers(const HuntCase& one) : document_(one.document) {
    Decisions decisions(one.changes);
    RunResult run;
    try {
      run = run_once(parse_base(one.document, "hunted"),
                     {.seed = one.seed, .keep_history = true, .decisions = &decisions, .observer = &sent_});
    } catch (const std::exception&) {
      return;  // no moment is known
    }
    for (const Event& event : run.history.events()) {
      if (const auto kind = run_event(event)) happened_.push_back({*kind, event.time_ns});
      if (event.f == Function::fault && event.value == 1)
        acted_.emplace(std::string(run.history.text(event.key)), event.time_ns);
    }
  }

  Candidates all() {
    const Value* const faults = document_.find("fault");
    if (faults == nullptr) return {};
    for (at_ = 0; at_ < faults->items.size(); ++at_) {
      const Value& fault = faults->items[at_];
      const Value* const after = fault.find("after");
      const bool by_fault = after != nullptr && after->find("fault") != nullptr;
      const bool delayed = after != nullptr && after->find("delay") != nullptr;
      if (after != nullptr && !by_fault) at_who_comes_by(fault);
      const auto acted = acted_.find(fault.find("id")->text);
      if ((after == nullptr || by_fault || delayed) && acted != acted_.end()) at_events(acted->second);
      if (after == nullptr || by_fault || delayed) at_messages();
      if (fault.find("for") != nullptr) until_events();
    }
    return std::move(out_);
  }

 private:
  template <class Change>
  void offer(const Change& change) {
    Value changed = document_;
    change(tables_of(changed, "fault")[at_]);
    out_.push_back({std::move(changed)});
  }

  void wait_for(Value after) {
    offer([&](Value& fault) {
      for (const char* const key : {"at", "every", "after", "during"}) erase_key(fault, key);
      set_key(fault, "after", std::move(after));
    });
  }

  void at_events(std::int64_t acted_ns) {
    for (const RunEventKind kind :
         {RunEventKind::lock_granted, RunEventKind::lock_releasing, RunEventKind::lock_requested,
          RunEventKind::lock_renewed, RunEventKind::lock_released, RunEventKind::lock_lost,
          RunEventKind::client_crashed}) {
      std::int64_t before = 0, latest_ns = 0, all = 0;
      for (const Happened& one : happened_) {
        if (one.kind != kind) continue;
        ++all;
        if (one.at_ns > acted_ns) continue;
        ++before;
        latest_ns = one.at_ns;
      }
      if (before > 0 && before <= kFarthest) {
        wait_for(event_table(kind, before, {}));
        const Duration since = rounded(Duration(acted_ns - latest_ns));
        if (since.count() > 0) wait_for(event_table(kind, before, since));
      }
      if (before > 1) wait_for(event_table(kind, 1, {}));
      if (before < all && before < kFarthest) wait_for(event_table(kind, before + 1, {}));
    }
  }

  void at_messages() {
    for (const auto& [command, count] : sent_.counts()) {
      for (const char* const phase : {"request", "reply"}) {
        for (const std::int64_t nth : {1, 2}) {
          Value after;
          set_key(after, "message", text_value(command));
          set_key(after, "phase", text_value(phase));
          set_key(after, "nth", integer_value(nth));
          wait_for(std::move(after));
        }
      }
    }
  }

  void until_events() {
    for (const RunEventKind kind :
         {RunEventKind::lock_granted, RunEventKind::lock_lost, RunEventKind::lock_released}) {
      offer([&](Value& fault) {
        erase_key(fault, "for");
        set_key(fault, "until", event_table(kind, 1, {}));
      });
    }
  }

  // Whom it strikes, if it names one or can: who the event or the message comes from.
  void at_who_comes_by(const Value& fault) {
    const Value* const client = fault.find("client");
    if (client != nullptr && (client->kind != Value::Kind::text || client->text == kEventClient)) return;
    const FaultKind* const kind = find_fault_kind(fault.find("kind")->text);
    const bool may = kind != nullptr && std::any_of(kind->keys.begin(), kind->keys.end(),
                                                    [](const FaultKey& key) { return key.name == "client"; });
    if (!may) return;
    offer([&](Value& changed) { set_key(changed, "client", text_value(std::string(kEventClient))); });
  }

  const Value& document_;
  SentCommands sent_;
  std::vector<Happened> happened_;
  std::map<std::string, std::int64_t, std::less<>> acted_;  // by fault: its first act
  std::size_t at_ = 0;
  Candidates out_;
};

}  // namespace

Candidates event_triggers(const HuntCase& one) { return Triggers(one).all(); }

std::size_t faults_at_times(const Value& document) {
  const Value* const faults = document.find("fault");
  if (faults == nullptr) return 0;
  return static_cast<std::size_t>(std::count_if(
      faults->items.begin(), faults->items.end(),
      [](const Value& fault) { return fault.find("at") != nullptr || fault.find("every") != nullptr; }));
}

}  // namespace holdfast::sim
