#include "sim/external/told_client.h"

#include <algorithm>
#include <utility>

namespace holdfast::sim {

using checker::Event;
using checker::EventType;
using checker::Function;
using checker::kAbsent;
using checker::Symbol;

namespace {

std::string words(EventType type, Function f) {
  return "`" + std::string(checker::to_string(type)) + "` of " + std::string(checker::to_string(f));
}

// Of one thread and sort, an operation begins when the one before is over, and ends once.
template <class Open>
void fits(const std::optional<Open>& open, const ToldLine& line, const std::string& key) {
  if (line.type == EventType::invoke) {
    if (open)
      throw BadLine(1, words(line.type, line.f) + " while " + std::string(checker::to_string(open->f)) +
                           " of `" + open->key + "` is open on thread " + std::to_string(line.thread) +
                           ", expected its ok, fail or info first; threads are told apart by `thread`");
    return;
  }
  if (!open || open->f != line.f || open->key != key)
    throw BadLine(1, words(line.type, line.f) + " of `" + key + "` without its invoke");
}

}  // namespace

ToldClient::ToldClient(Recorder& recorder, WorkloadStats& stats, std::string name, std::string key)
    : recorder_(recorder), stats_(stats), name_(std::move(name)), key_(std::move(key)) {}

std::string ToldClient::process_name(int thread, const Thread& its) const {
  std::string name = name_ + "/" + std::to_string(thread);
  if (its.generation > 0) name += "#" + std::to_string(its.generation);
  return name;
}

Event ToldClient::event(const ToldLine& line, const std::string& key, int thread) {
  checker::History& history = recorder_.history();
  Event event;
  event.type = line.type;
  event.f = line.f;
  event.key = history.intern(key);
  event.process = history.intern(process_name(thread, threads_[thread]));
  event.owner = history.intern(name_ + ":" + std::to_string(thread));
  event.error = history.intern(line.error);
  return event;
}

const ToldClient::Open* ToldClient::hold_of(const std::string& key, int thread) const {
  if (const auto own = threads_.find(thread); own != threads_.end()) {
    if (const auto hold = own->second.holds.find(key); hold != own->second.holds.end()) return &hold->second;
  }
  for (const auto& [number, its] : threads_) {
    if (const auto hold = its.holds.find(key); hold != its.holds.end()) return &hold->second;
  }
  return nullptr;
}

Symbol ToldClient::hold_for(const std::string& key, const Thread& thread) const {
  if (const auto hold = thread.holds.find(key); hold != thread.holds.end()) return hold->second.id;
  return thread.holds.empty() ? 0 : thread.holds.begin()->second.id;
}

void ToldClient::publish(RunEventKind kind, const std::string& key, Symbol id, std::string_view node,
                         std::vector<ToldEvent>& events) const {
  events.push_back({.kind = kind,
                    .client = name_,
                    .key = key,
                    .id = std::string(recorder_.history().text(id)),
                    .node = std::string(node)});
}

void ToldClient::tell(const ToldLine& line, const Moment& when, std::string_view node,
                      std::vector<ToldEvent>& events) {
  ++lines_;
  const std::string key = line.key.empty() ? key_ : line.key;
  switch (line.f) {
    case Function::acquire:
    case Function::release: return tell_lock(line, key, when, node, events);
    case Function::renew:
    case Function::lost: return tell_watchdog(line, key, when, node, events);
    default: return tell_resource(line, key, when, events);
  }
}

void ToldClient::tell_lock(const ToldLine& line, const std::string& key, const Moment& when,
                           std::string_view node, std::vector<ToldEvent>& events) {
  checker::History& history = recorder_.history();
  Thread& thread = threads_[line.thread];
  fits(thread.lock, line, key);
  Event told = event(line, key, line.thread);
  const bool acquires = line.f == Function::acquire;
  if (line.type == EventType::invoke) {
    const Open* const hold = acquires ? nullptr : hold_of(key, line.thread);
    Open open{.f = line.f, .key = key};
    open.mode = acquires ? history.intern(line.mode) : hold != nullptr ? hold->mode : 0;
    open.permits = line.permits != 0 ? line.permits : hold != nullptr ? hold->permits : 0;
    if (!acquires)
      open.id = !line.id.empty() ? history.intern(name_ + "-" + line.id) : hold != nullptr ? hold->id : 0;
    thread.lock = open;
  }
  const Open open = *thread.lock;
  told.mode = open.mode;
  told.permits = line.permits != 0 ? line.permits : open.permits;
  told.id = open.id;
  if (acquires && line.type == EventType::ok) {
    told.id = history.intern(name_ + "-" + (line.id.empty() ? std::to_string(next_++) : line.id));
    if (line.token) told.token = history.number(*line.token);
    if (line.valid_for_ns) told.valid_until_ns = when.not_before_ns + *line.valid_for_ns;
    told.node = history.intern(node);
    thread.holds[key] = {.f = line.f, .key = key, .id = told.id, .mode = told.mode, .permits = told.permits};
  }
  recorder_.append(told, when.at_ns);
  if (line.type == EventType::invoke) {
    return publish(acquires ? RunEventKind::lock_requested : RunEventKind::lock_releasing, key, told.id, "",
                   events);
  }
  thread.lock.reset();
  if (line.type == EventType::info) ++thread.generation;
  if (acquires) {
    const bool granted = line.type == EventType::ok;
    ++(granted ? stats_.acquired : line.type == EventType::fail ? stats_.refused : stats_.failed);
    publish(granted ? RunEventKind::lock_granted : RunEventKind::lock_refused, key, told.id,
            granted ? node : "", events);
    return;
  }
  ++(line.type == EventType::ok ? stats_.released : stats_.lost);
  for (auto& [number, its] : threads_) {
    const auto hold = its.holds.find(key);
    if (hold != its.holds.end() && hold->second.id == told.id) its.holds.erase(hold);
  }
  if (line.type == EventType::ok) publish(RunEventKind::lock_released, key, told.id, "", events);
}

void ToldClient::tell_watchdog(const ToldLine& line, const std::string& key, const Moment& when,
                               std::string_view node, std::vector<ToldEvent>& events) {
  checker::History& history = recorder_.history();
  Event told = event(line, key, line.thread);
  told.process = history.intern(name_ + "/watchdog");
  told.owner = 0;
  const Open* const hold = hold_of(key, line.thread);
  told.id = !line.id.empty() ? history.intern(name_ + "-" + line.id) : hold != nullptr ? hold->id : 0;
  if (line.f == Function::renew) {
    const auto open = renewals_.find(key);
    if (line.type == EventType::invoke) {
      if (open != renewals_.end())
        throw BadLine(1, words(line.type, line.f) + " of `" + key + "` while another one is open");
      renewals_.emplace(key, told.id);
    } else {
      if (open == renewals_.end())
        throw BadLine(1, words(line.type, line.f) + " of `" + key + "` without its invoke");
      told.id = open->second;
      renewals_.erase(open);
      if (line.valid_for_ns) told.valid_until_ns = when.not_before_ns + *line.valid_for_ns;
    }
  }
  recorder_.append(told, when.at_ns);
  if (line.f == Function::lost) {
    publish(RunEventKind::lock_lost, key, told.id, node, events);
  } else if (line.type != EventType::invoke) {
    publish(line.type == EventType::ok ? RunEventKind::lock_renewed : RunEventKind::lock_renew_failed, key,
            told.id, node, events);
  }
}

void ToldClient::tell_resource(const ToldLine& line, const std::string& key, const Moment& when,
                               std::vector<ToldEvent>& events) {
  Thread& thread = threads_[line.thread];
  const bool sells = line.f == Function::sell;
  std::optional<Open>& open = sells ? thread.sale : thread.resource;
  fits(open, line, key);
  if (line.type == EventType::invoke) open = {.f = line.f, .key = key};
  Event told = event(line, key, line.thread);
  told.id = hold_for(key, thread);
  if (line.value) told.value = checker::Value(*line.value);
  if (line.token) told.token = checker::Value(*line.token);
  recorder_.append(told, when.at_ns);
  if (line.type == EventType::invoke) return;
  open.reset();
  if (line.type == EventType::info) ++thread.generation;
  if (line.type != EventType::ok) return;
  if (sells) ++stats_.sold;
  publish(sells                      ? RunEventKind::sell
          : line.f == Function::read ? RunEventKind::read
                                     : RunEventKind::write,
          key, told.id, "", events);
}

void ToldClient::take_effect(const Effect& effect, std::int64_t at_ns, std::vector<ToldEvent>& events) {
  ToldLine line{.type = EventType::invoke, .f = effect.f, .thread = effect.thread};
  Thread& thread = threads_[effect.thread];
  const auto append = [&](EventType type, Function f) {
    line.type = type;
    line.f = f;
    line.error = type == EventType::fail ? std::string(effect.failed) : "";
    Event told = event(line, key_, effect.thread);
    told.id = hold_for(key_, thread);
    const bool known = type == EventType::ok || f != Function::read;
    if (f != Function::sell && known && effect.value != kAbsent) told.value = checker::Value(effect.value);
    if (f != Function::sell && effect.shown != kAbsent) told.token = checker::Value(effect.shown);
    recorder_.append(told, at_ns);
    return told.id;
  };
  const EventType end = effect.failed.empty() ? EventType::ok : EventType::fail;
  if (effect.sells) append(EventType::invoke, Function::sell);
  append(EventType::invoke, effect.f);
  const Symbol id = append(end, effect.f);
  if (effect.sells) append(end, Function::sell);
  if (end == EventType::fail) return;
  publish(effect.f == Function::read ? RunEventKind::read : RunEventKind::write, key_, id, "", events);
  if (!effect.sells) return;
  ++stats_.sold;
  publish(RunEventKind::sell, key_, id, "", events);
}

void ToldClient::over() {
  renewals_.clear();
  for (auto& [number, thread] : threads_) {
    thread.lock = thread.resource = thread.sale = std::nullopt;
    thread.holds.clear();
    ++thread.generation;
  }
}

bool ToldClient::busy() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& entry) {
    const Thread& thread = entry.second;
    return thread.lock || thread.resource || thread.sale || !thread.holds.empty();
  });
}

}  // namespace holdfast::sim
