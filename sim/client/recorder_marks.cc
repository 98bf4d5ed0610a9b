// What a recorder writes of the run itself: marks, permits, faults and what they did.
#include "sim/client/recorder.h"

namespace holdfast::sim {

void Recorder::mark(std::string_view name, std::string_view node) {
  ++marks_[std::string(name)];
  checker::Event event;
  event.type = checker::EventType::info;
  event.f = checker::Function::mark;
  event.process = history_.intern("nemesis");
  event.key = history_.intern(name);
  if (!node.empty()) event.node = history_.intern(node);
  append(event);
}

void Recorder::permits(std::string_view key, int permits) {
  checker::Event event;
  event.type = checker::EventType::ok;
  event.f = checker::Function::resize;
  event.process = history_.intern("nemesis");
  event.key = history_.intern(key);
  event.value = checker::Value(permits);
  append(event);
}

void Recorder::fault(const FaultAct& act, bool acts) {
  checker::Event event;
  event.type = checker::EventType::info;
  event.f = checker::Function::fault;
  event.process = history_.intern("nemesis");
  event.key = history_.intern(act.fault);
  event.id = history_.intern(act.act);
  event.value = checker::Value(acts ? 1 : 0);
  event.error = history_.intern(act.description);
  if (act.at_once) event.mode = history_.intern(checker::kAtOnce);
  append(event);
}

void Recorder::effect(const FaultAct& act, checker::Effect effect, std::string_view party,
                      std::int64_t value) {
  checker::Event event;
  event.type = checker::EventType::info;
  event.f = checker::Function::effect;
  event.process = history_.intern("nemesis");
  event.key = history_.intern(act.fault);
  event.id = history_.intern(act.act);
  event.mode = history_.intern(checker::to_string(effect));
  event.node = history_.intern(party);
  if (value != checker::kAbsent) event.value = checker::Value(value);
  append(event);
}

}  // namespace holdfast::sim
