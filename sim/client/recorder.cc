#include "sim/client/recorder.h"

#include <algorithm>
#include <utility>

#include "sim/world/past.h"

namespace holdfast::sim {

using checker::Event;
using checker::EventType;
using checker::Function;
using checker::kAbsent;
using checker::Symbol;

namespace {

checker::Value value_of(std::int64_t number) {
  return number == kAbsent ? checker::Value() : checker::Value(number);
}

// What is known of a client's acquisitions: the client tells of them, and so do its messages as they pass.
void share(Recorder& recorder, const std::string& client) {
  if (Past* const past = past_of(recorder.world())) past->share("recorder/" + client, Past::Access::write);
}

// An operation on a resource that returned ok.
RunEventKind event_of(Function f) {
  switch (f) {
    case Function::read: return RunEventKind::read;
    case Function::sell: return RunEventKind::sell;
    case Function::resize: return RunEventKind::latch_set;
    case Function::count_down: return RunEventKind::latch_counted;
    case Function::await: return RunEventKind::latch_opened;
    default: return RunEventKind::write;
  }
}

}  // namespace

// --- Recorder ------------------------------------------------------------------------------------------

Recorder::Recorder(World& world) : world_(world) {}
Recorder::~Recorder() = default;

ClientRecorder& Recorder::client(const std::string& name) {
  std::unique_ptr<ClientRecorder>& client = clients_[name];
  if (!client) client = std::make_unique<ClientRecorder>(*this, name);
  return *client;
}

std::uint64_t Recorder::subscribe(EventFilter filter, Callback callback) {
  auto subscriber = std::make_shared<Subscriber>();
  subscriber->number = next_subscriber_++;
  subscriber->filter = std::move(filter);
  subscriber->callback = std::move(callback);
  subscribers_[subscriber->filter.event].push_back(subscriber);
  return subscriber->number;
}

void Recorder::unsubscribe(std::uint64_t subscription) {
  for (auto entry = subscribers_.begin(); entry != subscribers_.end();) {
    for (const auto& subscriber : entry->second) {
      if (subscriber->number == subscription) subscriber->callback = nullptr;  // also for a publish under way
    }
    std::erase_if(entry->second, [&](const auto& subscriber) { return subscriber->number == subscription; });
    entry = entry->second.empty() ? subscribers_.erase(entry) : std::next(entry);
  }
}

void Recorder::publish(const RunEvent& event) {
  if (subscribers_.empty()) return;
  const auto found = subscribers_.find(event.kind);
  if (found == subscribers_.end()) return;
  const std::vector<std::shared_ptr<Subscriber>> present = found->second;  // callbacks may (un)subscribe
  for (const auto& subscriber : present) {
    const EventFilter& filter = subscriber->filter;
    if (!subscriber->callback || (!filter.client.empty() && filter.client != event.client)) continue;
    ++subscriber->matches;
    if (filter.nth != 0 && filter.nth != subscriber->matches) continue;
    const Callback callback = subscriber->callback;
    callback(event);
  }
}

void Recorder::append(Event event) {
  event.time_ns = world_.now_ns();
  history_.append(event);
}

checker::Symbol Recorder::acquisition(std::string_view record) {
  for (const auto& [name, client] : clients_) {
    if (const checker::Symbol id = client->known_acquisition(record)) return id;
  }
  return 0;
}

// --- ClientRecorder ------------------------------------------------------------------------------------

ClientRecorder::ClientRecorder(Recorder& recorder, std::string name)
    : recorder_(recorder), name_(std::move(name)) {
  process_symbol_ = recorder_.history().intern(name_);
  watchdog_ = recorder_.history().intern(name_ + "/watchdog");
}

ClientRecorder::~ClientRecorder() = default;

void ClientRecorder::started(Process& process, Duration lease) {
  process_ = &process;
  lease_ = lease;
  acquisitions_.all_over();
  renewals_.all_over();
  for (auto& [thread, generation] : generations_) ++generation;
  publish(RunEventKind::client_started, "", 0, 0);
}

void ClientRecorder::crashed() {
  Event event;
  event.type = EventType::info;
  event.f = Function::crash;
  event.process = process_symbol_;
  recorder_.append(event);
  process_ = nullptr;
  publish(RunEventKind::client_crashed, "", 0, 0);
}

Acquisition* ClientRecorder::known(std::string_view record) {
  if (record.empty()) return nullptr;
  share(recorder_, name_);
  if (Acquisition* const found = acquisitions_.find(record)) return found;
  return &acquisitions_.add(record, next_name());
}

Acquisition* ClientRecorder::asked(std::string_view record) {
  share(recorder_, name_);
  Acquisition* const before = acquisitions_.find(record);
  if (before != nullptr) before->asked_again = true;
  Acquisition* const found = known(record);
  if (found != nullptr && found->was_held && !found->held) Acquisitions::begin_anew(*found, next_name());
  return found;
}

Symbol ClientRecorder::next_name() {
  return recorder_.history().intern(name_ + "-" + std::to_string(next_acquisition_++));
}

Symbol ClientRecorder::known_acquisition(std::string_view record) {
  share(recorder_, name_);
  const Acquisition* const found = acquisitions_.find(record);
  return found == nullptr ? 0 : found->id;
}

Symbol ClientRecorder::asked_acquisition(std::string_view record) {
  const Acquisition* const acquisition = asked(record);
  return acquisition == nullptr ? 0 : acquisition->id;
}

Symbol ClientRecorder::acquisition(std::string_view record) {
  const Acquisition* const acquisition = known(record);
  return acquisition == nullptr ? 0 : acquisition->id;
}

Symbol ClientRecorder::last_acquisition(std::string_view key) const {
  share(recorder_, name_);
  const auto found = last_.find(key);
  return found == last_.end() ? 0 : found->second;
}

void ClientRecorder::append(const Event& event) {
  if (live()) recorder_.append(event);
}

void ClientRecorder::publish(RunEventKind event, std::string_view key, Symbol id, Symbol node) {
  if (!recorder_.anybody_listens()) return;
  const checker::History& history = recorder_.history();
  recorder_.publish({.kind = event,
                     .client = name_,
                     .key = key,
                     .id = history.text(id),
                     .node = history.text(node),
                     .time_ns = recorder_.world().now_ns()});
}

std::int64_t ClientRecorder::translate(std::optional<MonotonicTime> time) const {
  return time && process_ != nullptr ? process_->world_ns(*time) : kAbsent;
}

void ClientRecorder::on_event(const LockEvent& told) noexcept {
  using Kind = LockEvent::Kind;
  if (!live() || told.kind == Kind::released || told.kind == Kind::release_failed ||
      told.kind == Kind::refused || told.kind == Kind::acquire_failed)
    return;  // the thread records what it was told itself
  checker::History& history = recorder_.history();
  if (told.kind == LockEvent::Kind::acquired) {
    if (Acquisition* const acquisition = asked(told.acquisition)) {
      acquisition->held = acquisition->granting = true;
      acquisition->sent_at = told.sent_at;
      acquisition->node = history.intern(told.node);
    }
    return;
  }
  if (told.kind == LockEvent::Kind::queued) {  // on the task that waits
    const auto thread = threads_.find(process_->runtime().task_id());
    if (thread != threads_.end()) thread->second->queued(told.key, history.intern(told.node));
    return;
  }
  Event event;
  event.process = watchdog_;
  event.key = history.intern(told.key);
  event.id = acquisition(told.acquisition);
  event.node = history.intern(told.node);
  switch (told.kind) {
    case LockEvent::Kind::acquired:
    case LockEvent::Kind::released:
    case LockEvent::Kind::release_failed:
    case LockEvent::Kind::refused:
    case LockEvent::Kind::acquire_failed:
    case LockEvent::Kind::queued: return;
    case LockEvent::Kind::waiting:
      publish(RunEventKind::lock_waiting, told.key, event.id, event.node);
      return;
    case LockEvent::Kind::renewing:
      event.f = Function::renew;
      event.type = EventType::invoke;
      renewals_.begun(event.key, told.acquisition, event.id);
      append(event);
      return;
    case LockEvent::Kind::renewed:
      event.f = Function::renew;
      event.id = renewals_.answered(event.key, told.acquisition, event.id);
      event.type = EventType::ok;
      event.valid_until_ns = translate(told.valid_until);
      append(event);
      publish(RunEventKind::lock_renewed, told.key, event.id, event.node);
      return;
    case LockEvent::Kind::extended:  // nothing said before that it would be asked for
      event.f = Function::renew;
      event.type = EventType::invoke;
      append(event);
      event.type = EventType::ok;
      event.valid_until_ns = translate(told.valid_until);
      append(event);
      return;
    case LockEvent::Kind::renew_failed:
      event.f = Function::renew;
      event.id = renewals_.answered(event.key, told.acquisition, event.id);
      event.type = EventType::info;
      event.error = history.intern(told.reason);
      append(event);
      publish(RunEventKind::lock_renew_failed, told.key, event.id, event.node);
      return;
    case LockEvent::Kind::lost:
      event.f = Function::lost;
      event.type = EventType::ok;
      event.error = history.intern(told.reason);
      append(event);
      publish(RunEventKind::lock_lost, told.key, event.id, event.node);
      return;
  }
}

// --- ThreadRecorder ------------------------------------------------------------------------------------

ThreadRecorder::ThreadRecorder(ClientRecorder& client, int thread) : client_(client), thread_(thread) {
  client_.generations_.try_emplace(thread, 0);
  owner_ = client_.recorder_.history().intern(client_.name_ + ":" + std::to_string(thread_));
  rename();
  if (!client_.live()) return;
  task_ = client_.process_->runtime().task_id();
  client_.threads_[task_] = this;
  client_.make_room();
}

ThreadRecorder::~ThreadRecorder() {
  const auto me = client_.threads_.find(task_);
  if (me != client_.threads_.end() && me->second == this) client_.threads_.erase(me);
}

void ThreadRecorder::rename() {
  const std::uint64_t generation = client_.generations_[thread_];
  std::string name = client_.name_ + "/" + std::to_string(thread_);
  if (generation > 0) name += "#" + std::to_string(generation);
  process_ = client_.recorder_.history().intern(name);
}

ThreadRecorder::Keyed& ThreadRecorder::keyed(std::string_view key) {
  Keyed* latest = nullptr;
  for (Keyed& one : keys_) {
    if (one.text != key) continue;
    if (one.busy) return one;
    if (latest == nullptr || (one.id != 0 && (latest->id == 0 || one.turn > latest->turn))) latest = &one;
  }
  return latest != nullptr ? *latest : new_keyed(key);
}

ThreadRecorder::Keyed* ThreadRecorder::held(std::string_view key, Symbol mode) {
  for (Keyed& one : keys_) {
    if (one.text == key && one.id != 0 && one.mode == mode) return &one;
  }
  return nullptr;
}

ThreadRecorder::Keyed& ThreadRecorder::new_keyed(std::string_view key) {
  Keyed* idle = nullptr;
  for (Keyed& one : keys_) {
    if (one.id == 0 && !one.busy) idle = &one;
  }
  if (idle == nullptr) idle = &keys_.emplace_back();
  *idle = {.text = std::string(key), .key = client_.recorder_.history().intern(key)};
  return *idle;
}

Symbol ThreadRecorder::hold_for(const Keyed& key) const {
  if (key.id != 0) return key.id;
  const Keyed* latest = nullptr;
  for (const Keyed& one : keys_) {
    if (one.id != 0 && (latest == nullptr || one.turn > latest->turn)) latest = &one;
  }
  return latest == nullptr ? 0 : latest->id;
}

Event ThreadRecorder::event(EventType type, Function f, const Keyed& key) {
  Event event;
  event.type = type;
  event.f = f;
  event.process = process_;
  event.owner = owner_;
  event.key = key.key;
  return event;
}

Event ThreadRecorder::lock_event(EventType type, Function f, const Keyed& key) {
  Event told = event(type, f, key);
  told.mode = key.mode;
  told.permits = key.permits;
  return told;
}

void ThreadRecorder::queued(std::string_view key, Symbol node) {
  Event told = event(EventType::ok, Function::queue, keyed(key));
  told.node = node;
  client_.append(told);
  client_.publish(RunEventKind::lock_queued, key, 0, node);
}

void ThreadRecorder::finish(EventType type, Function f, const Keyed& key, std::string_view error) {
  const bool of_lock = f == Function::acquire || f == Function::release;
  Event done = of_lock ? lock_event(type, f, key) : event(type, f, key);
  done.error = client_.recorder_.history().intern(error);
  if (f != Function::acquire) done.id = of_lock ? key.id : hold_for(key);
  client_.append(done);
  if (type == EventType::info && client_.live()) {
    ++client_.generations_[thread_];
    rename();
  }
}

void ThreadRecorder::acquire_invoked(std::string_view key, std::string_view mode, int permits) {
  const Symbol asked = client_.recorder_.history().intern(mode);
  Keyed* const same = held(key, asked);
  Keyed* const idle = same != nullptr ? same : &keyed(key);
  Keyed& mine = same != nullptr || idle->id == 0 ? *idle : new_keyed(key);
  mine.mode = asked;
  mine.permits = static_cast<std::uint32_t>(permits);
  mine.busy = true;
  client_.append(lock_event(EventType::invoke, Function::acquire, mine));
  client_.publish(RunEventKind::lock_requested, key, 0, 0);
}

void ThreadRecorder::acquire_ok(const Lock& lock) {
  if (!client_.live()) return;
  Keyed& mine = keyed(lock.key());
  mine.busy = false;
  Event ok = lock_event(EventType::ok, Function::acquire, mine);
  mine.hold = client_.known(lock.acquisition());
  std::optional<MonotonicTime> valid_until = lock.valid_until();
  if (mine.hold != nullptr && mine.hold->granting) {
    mine.hold->granting = false;
    ok.node = mine.hold->node;
    if (!valid_until && mine.hold->sent_at) valid_until = *mine.hold->sent_at + client_.lease_;
  }
  const Symbol id = mine.hold != nullptr ? mine.hold->id : 0;
  mine.depth = id != 0 && id == mine.id ? mine.depth + 1 : 1;
  ok.id = mine.id = id;
  mine.turn = ++turns_;
  if (mine.hold != nullptr) mine.hold->was_held = true;
  ok.valid_until_ns = client_.translate(valid_until);
  if (const auto token = lock.token()) ok.token = client_.recorder_.history().number(std::to_string(*token));
  if (mine.last == nullptr) mine.last = &client_.last_[lock.key()];
  *mine.last = id;
  client_.append(ok);
  client_.publish(RunEventKind::lock_granted, lock.key(), id, ok.node);
}

void ThreadRecorder::acquire_failed(std::string_view key, std::string_view error) {
  Keyed& mine = keyed(key);
  mine.busy = false;
  finish(EventType::fail, Function::acquire, mine, error);
  client_.publish(RunEventKind::lock_refused, key, 0, 0);
}

void ThreadRecorder::acquire_unknown(std::string_view key, std::string_view error) {
  Keyed& mine = keyed(key);
  mine.busy = false;
  finish(EventType::info, Function::acquire, mine, error);
  client_.publish(RunEventKind::lock_refused, key, 0, 0);
}

void ThreadRecorder::release_invoked(std::string_view key, std::string_view mode) {
  Keyed* const one = mode.empty() ? nullptr : held(key, client_.recorder_.history().intern(mode));
  Keyed& mine = one != nullptr ? *one : keyed(key);
  mine.busy = true;
  Event invoked = lock_event(EventType::invoke, Function::release, mine);
  invoked.id = mine.id;
  client_.append(invoked);
  client_.publish(RunEventKind::lock_releasing, key, mine.id, 0);
}

void ThreadRecorder::interrupted(std::string_view key) {
  const Keyed& mine = keyed(key);
  other(EventType::info, "interrupted", key, kAbsent);
  client_.publish(RunEventKind::lock_interrupted, key, mine.id, 0);
}

void ThreadRecorder::release_ok(std::string_view key) {
  Keyed& mine = keyed(key);
  finish(EventType::ok, Function::release, mine, "");
  client_.publish(RunEventKind::lock_released, key, mine.id, 0);
  mine.busy = false;
  if (--mine.depth <= 0) over(mine);
}

void ThreadRecorder::over(Keyed& key) {
  const Symbol id = std::exchange(key.id, 0);
  const bool else_held =
      std::any_of(keys_.begin(), keys_.end(), [id](const Keyed& one) { return one.id == id; });
  if (key.hold != nullptr && key.hold->id == id && !else_held) key.hold->held = false;
  key.busy = false;
}

void ThreadRecorder::release_failed(std::string_view key, std::string_view error) {
  Keyed& mine = keyed(key);
  finish(EventType::fail, Function::release, mine, error);
  over(mine);
}

void ThreadRecorder::release_unknown(std::string_view key, std::string_view error) {
  Keyed& mine = keyed(key);
  finish(EventType::info, Function::release, mine, error);
  over(mine);
}

void ThreadRecorder::resource_invoked(Function f, std::string_view key, std::int64_t value,
                                      std::int64_t shown) {
  const Keyed& mine = keyed(key);
  Event invoked = event(EventType::invoke, f, mine);
  invoked.id = hold_for(mine);
  invoked.value = value_of(value);
  invoked.token = value_of(shown);
  client_.append(invoked);
  if (f == Function::await) client_.publish(RunEventKind::latch_waiting, key, 0, 0);
}

void ThreadRecorder::resource_ok(Function f, std::string_view key, std::int64_t value, std::int64_t shown) {
  const Keyed& mine = keyed(key);
  Event ok = event(EventType::ok, f, mine);
  ok.id = hold_for(mine);
  ok.value = value_of(value);
  ok.token = value_of(shown);
  client_.append(ok);
  client_.publish(event_of(f), key, ok.id, 0);
}

void ThreadRecorder::resource_failed(Function f, std::string_view key, std::string_view error) {
  finish(EventType::fail, f, keyed(key), error);
}

void ThreadRecorder::resource_unknown(Function f, std::string_view key, std::string_view error) {
  finish(EventType::info, f, keyed(key), error);
}

void ThreadRecorder::sale_unknown(Function f, std::string_view key, std::string_view error) {
  const Keyed& mine = keyed(key);
  Event unknown = event(EventType::info, f, mine);
  unknown.error = client_.recorder_.history().intern(error);
  unknown.id = hold_for(mine);
  client_.append(unknown);
  finish(EventType::info, Function::sell, mine, error);
}

void ThreadRecorder::other(EventType type, std::string_view f, std::string_view key, std::int64_t value) {
  const Keyed& mine = keyed(key);
  Event told = event(type, Function::other, mine);
  told.id = hold_for(mine);
  told.value = value_of(value);
  told.error = client_.recorder_.history().intern(f);
  client_.append(told);
}

}  // namespace holdfast::sim
