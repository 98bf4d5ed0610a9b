#include "sim/historic/redlock/redlock_cpp.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/uuid.h"
#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"
#include "sim/historic/redlock/redlock_classic.h"

namespace holdfast::historic {

const redis::Script kRedlockCppContinue = historic_scripts::redlock_cpp_continue;

namespace {

std::vector<redis::Client*> checked(std::vector<redis::Client*> nodes, const LockOptions& options) {
  if (nodes.empty()) throw std::invalid_argument("a CRedLock needs at least one server");
  if (options.lease < std::chrono::milliseconds(1))
    throw std::invalid_argument("a lease must be at least 1 ms");
  return nodes;
}

// (int)time(NULL) * 1000, in an int that wraps around.
std::uint32_t whole_seconds_in_ms(Runtime& runtime) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(runtime.wall_now().time_since_epoch()).count();
  return static_cast<std::uint32_t>(seconds) * 1000U;
}

}  // namespace

RedlockCpp::RedlockCpp(std::vector<redis::Client*> nodes, LockOptions options, std::string key)
    : nodes_(checked(std::move(nodes), options)),
      options_(std::move(options)),
      key_(std::move(key)),
      busy_(nodes_.front()->runtime()),
      mutex_(nodes_.front()->runtime()),
      changed_(nodes_.front()->runtime()) {}

RedlockCpp::~RedlockCpp() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    keeper_ = {};  // joins it
  } catch (const TaskCancelled&) {
  }
}

std::int64_t RedlockCpp::lease_ms() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count();
}

void RedlockCpp::lock() { poll(kNever, {}); }
bool RedlockCpp::try_lock() { return poll(runtime().now(), {}); }
bool RedlockCpp::try_lock_until(MonotonicTime deadline, std::stop_token stop) { return poll(deadline, stop); }

bool RedlockCpp::poll(MonotonicTime deadline, const std::stop_token& stop) {
  const std::string id = random_uuid(runtime());
  std::optional<Granted> granted;
  for (bool waiting = false; !(granted = call(id, false, stop)); waiting = true) {
    if (!waiting) tell({.kind = LockEvent::Kind::waiting, .key = key_});
    if (stop.stop_requested()) {
      throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
    }
    if (runtime().now() >= deadline) return false;
  }
  {
    const std::scoped_lock guard(mutex_);
    hold_ = Hold{.task = runtime().task_id(),
                 .id = id,
                 .valid_until = granted->valid_until,
                 .due = runtime().now() + options_.lease / 3};
    if (options_.renew && !keeper_.joinable()) keeper_ = runtime().spawn("watchdog", [this] { keep(); });
    changed_.notify_all();
  }
  tell({.kind = LockEvent::Kind::acquired,
        .key = key_,
        .acquisition = id,
        .node = granted->decider,
        .valid_until = granted->valid_until,
        .sent_at = granted->sent_at});
  return true;
}

std::optional<RedlockCpp::Granted> RedlockCpp::call(const std::string& id, bool background,
                                                    const std::stop_token& stop) {
  for (int left = kRetries; left > 0; --left) {
    if (const auto granted = attempt(id, background)) return granted;
    unlock_all(id);
    const auto half = static_cast<std::uint64_t>(kRetryDelay.count()) / 2;
    const Duration time(static_cast<Duration::rep>(runtime().random_between(half, 3 * half)));
    if (!(background ? pause(time) : pause(time, stop))) break;
  }
  return std::nullopt;
}

bool RedlockCpp::pause(Duration time) {
  std::unique_lock guard(mutex_);
  return !changed_.wait_until(guard, runtime().now() + time, [this] { return closing_; });
}

bool RedlockCpp::pause(Duration time, const std::stop_token& stop) {
  Wakeup(runtime()).wait_until(runtime().now() + time, stop);
  return !stop.stop_requested();
}

std::optional<RedlockCpp::Granted> RedlockCpp::attempt(const std::string& id, bool background) {
  const std::string lease = std::to_string(lease_ms());
  const std::array<std::string_view, 1> keys{key_};
  const std::array<std::string_view, 3> args{id, id, lease};
  Granted granted{.sent_at = runtime().now()};
  const std::uint32_t started = whole_seconds_in_ms(runtime());
  const std::size_t quorum = nodes_.size() / 2 + 1;
  std::size_t votes = 0;
  for (redis::Client* const node : nodes_) {
    try {
      const redis::Answer answer = node->eval(kRedlockCppContinue, keys, args, {.background = background});
      if (!answer.reply.is_nil() && ++votes == quorum) granted.decider = answer.node;
    } catch (const redis::Error&) {
    }
  }
  const auto used = static_cast<std::int32_t>(whole_seconds_in_ms(runtime()) - started);
  const std::int64_t validity = lease_ms() - used - (lease_ms() / 100 + 2);
  if (votes < quorum || validity <= 0) return std::nullopt;
  granted.valid_until = runtime().now() + std::chrono::milliseconds(validity);
  return granted;
}

void RedlockCpp::keep() {
  std::unique_lock guard(mutex_);
  while (!closing_) {
    const MonotonicTime due = hold_ ? hold_->due : kNever;
    if (runtime().now() < due) {
      changed_.wait_until(guard, due, [&] { return closing_ || (hold_ && hold_->due < due); });
      continue;
    }
    const std::string id = hold_->id;
    guard.unlock();
    continue_hold(id);
    guard.lock();
  }
}

void RedlockCpp::continue_hold(const std::string& id) {
  const std::scoped_lock one_at_a_time(busy_);
  {
    const std::scoped_lock guard(mutex_);
    if (!hold_ || hold_->id != id) return;
  }
  LockEvent event{.kind = LockEvent::Kind::renewing, .key = key_, .acquisition = id};
  tell(event);
  const auto granted = call(id, true, {});
  std::stop_source lost;
  {
    const std::scoped_lock guard(mutex_);
    if (closing_ || !hold_ || hold_->id != id) return;  // another task has been granted it meanwhile
    if (granted) {
      hold_->valid_until = granted->valid_until;
      hold_->due = runtime().now() + options_.lease / 3;
    } else {
      lost = hold_->lost;
      hold_.reset();
    }
  }
  if (granted) {
    event.kind = LockEvent::Kind::renewed;
    event.node = granted->decider;
    event.sent_at = granted->sent_at;
    event.valid_until = granted->valid_until;
    return tell(event);
  }
  event.kind = LockEvent::Kind::lost;
  event.reason = "ContinueLock() was refused";
  tell(event);
  lost.request_stop();
}

void RedlockCpp::unlock_all(const std::string& id) {
  const std::array<std::string_view, 1> keys{key_}, args{id};
  for (redis::Client* const node : nodes_) {
    try {
      node->eval(kRedlockUnlock, keys, args);
    } catch (const redis::Error&) {
    }
  }
}

void RedlockCpp::release() {
  const std::scoped_lock one_at_a_time(busy_);
  std::string id;
  {
    const std::scoped_lock guard(mutex_);
    if (!hold_ || hold_->task != runtime().task_id()) {
      throw NotOwner("lock '" + key_ + "': the calling task does not hold it", key_, "", false);
    }
    id = std::move(hold_->id);
    hold_.reset();
  }
  unlock_all(id);
  tell({.kind = LockEvent::Kind::released, .key = key_, .acquisition = id});
}

int RedlockCpp::hold_count() const {
  const std::scoped_lock guard(mutex_);
  return hold_ && hold_->task == runtime().task_id() ? 1 : 0;
}

std::optional<MonotonicTime> RedlockCpp::valid_until() const {
  const std::scoped_lock guard(mutex_);
  return hold_ && hold_->task == runtime().task_id() ? std::optional(hold_->valid_until) : std::nullopt;
}

std::string RedlockCpp::acquisition() const {
  const std::scoped_lock guard(mutex_);
  return hold_ && hold_->task == runtime().task_id() ? hold_->id : std::string();
}

std::stop_token RedlockCpp::lost() const {
  const std::scoped_lock guard(mutex_);
  return hold_ && hold_->task == runtime().task_id() ? hold_->lost.get_token() : std::stop_token();
}

void RedlockCpp::tell(const LockEvent& event) const {
  if (options_.observer != nullptr) options_.observer->on_event(event);
}

}  // namespace holdfast::historic
