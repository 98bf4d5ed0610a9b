#include "sim/hunt/shrink_late.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/scenario/units.h"
#include "sim/scenario/write_document.h"

namespace holdfast::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string range_text(Duration low, Duration high) {
  return low == high ? format_duration(low) : format_duration(low) + ".." + format_duration(high);
}

// From what it was to that much later; what is no time stays.
void put_off(Value& time, Duration most) {
  if (time.kind != Value::Kind::text || most <= Duration::zero()) return;
  if (const auto range = parse_duration_range(time.text))
    time.text = range_text(range->low, range->high + most);
}

void put_off(Value& table, const char* key, Duration most) {
  if (Value* const time = table.find(key)) put_off(*time, most);
}

// As if it said that it does not wait, which is what it means.
void put_off_or_wait(Value& table, const char* key, Duration most) {
  if (table.find(key) == nullptr) set_key(table, key, text_value("0s"));
  put_off(table, key, most);
}

// A restart is over at once here; a crash that ends says how long it takes.
void take_time_to_start(Value& fault, Duration most) {
  const std::string kind = fault.find("kind")->text;
  if (kind == "restart") {
    set_key(fault, "kind", text_value("crash"));
    set_key(fault, "for", text_value("1ms"));
  }
  const bool starts = kind == "restart" || kind == "crash" || kind == "power-loss" || kind == "shutdown";
  if (starts) put_off(fault, "for", most);
}

// Calls `see` for each time that somebody waits for, which it may change.
void each_time(Value& document, const std::function<void(Value&)>& see) {
  const auto in = [&](Value& table, const char* key) {
    Value* const time = table.find(key);
    if (time != nullptr && time->kind == Value::Kind::text && parse_duration_range(time->text)) see(*time);
  };
  Value& workload = section_of(document, "workload");
  for (const char* const key : {"hold", "think", "wait", "start", "command_timeout", "evict"})
    in(workload, key);
  Value* const faults = document.find("fault");
  if (faults == nullptr) return;
  for (Value& fault : faults->items) {
    for (const char* const key : {"for", "at", "every", "delay"}) in(fault, key);
    for (const char* const key : {"after", "until"}) {
      if (Value* const trigger = fault.find(key)) in(*trigger, "delay");
    }
  }
}

bool is_critical_section(Value& document) {
  const Value* const kind = section_of(document, "workload").find("kind");
  return kind != nullptr && kind->text == "critical-section";
}

Value in_proportion(Value document, std::int64_t times) {
  const auto stretch = [&](Value& time) {
    const DurationRange range = *parse_duration_range(time.text);
    time.text = range_text(range.low * times, range.high * times);
  };
  each_time(document, stretch);
  if (Value* const lease = section_of(document, "lock").find("lease")) stretch(*lease);
  return document;
}

}  // namespace

Value on_late_machine(const Value& document, const Lateness& late) {
  Value changed = document;
  put_off_or_wait(section_of(changed, "network"), "latency", late.message);
  Value& workload = section_of(changed, "workload");
  put_off_or_wait(workload, "start", late.message);
  if (is_critical_section(changed)) put_off_or_wait(workload, "hold", late.wait);
  put_off(workload, "think", late.wait);
  Value* const faults = changed.find("fault");
  if (faults == nullptr) return changed;
  for (Value& fault : faults->items) {
    take_time_to_start(fault, late.start);
    for (const char* const key : {"for", "at", "every"}) put_off(fault, key, late.wait);
    for (const char* const key : {"after", "until"}) {
      if (Value* const trigger = fault.find(key)) put_off(*trigger, "delay", late.wait);
    }
  }
  return changed;
}

Candidates longer_times(const Value& document) {
  Candidates out;
  Value whole = document;
  constexpr Duration kRound[] = {milliseconds(100), milliseconds(200), milliseconds(500), seconds(1),
                                 seconds(2),        seconds(3),        seconds(5)};
  const auto offer_longer = [&](Value& time) {
    const Value kept = time;
    const Duration now = parse_duration_range(kept.text)->high;
    for (const Duration longer : kRound) {
      if (longer <= now) continue;
      time.text = format_duration(longer);
      out.push_back({whole});
    }
    time = kept;
  };
  each_time(whole, offer_longer);
  if (is_critical_section(whole) && section_of(whole, "workload").find("hold") == nullptr) {
    Value held = whole;
    for (const Duration longer : kRound) {
      set_key(section_of(held, "workload"), "hold", text_value(format_duration(longer)));
      out.push_back({held});
    }
  }
  if (Value* const lease = section_of(whole, "lock").find("lease")) offer_longer(*lease);
  for (const std::int64_t times : {2, 5, 10, 50}) out.push_back({in_proportion(whole, times)});
  return out;
}

}  // namespace holdfast::sim
