#include "sim/historic/redlock/redis_plus_plus_tx.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/lock_error_from.h"
#include "lib/lock/engine/uuid.h"
#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"
#include "sim/historic/redlock/redlock_classic.h"

namespace holdfast::historic {

const redis::Script kRedisPlusPlusExtend = historic_scripts::redis_plus_plus_extend;

namespace {

std::vector<redis::Client*> checked(std::vector<redis::Client*> nodes, const LockOptions& options) {
  if (nodes.empty()) throw std::invalid_argument("a RedMutex needs at least one server");
  if (options.lease < std::chrono::milliseconds(1))
    throw std::invalid_argument("a lease must be at least 1 ms");
  return nodes;
}

}  // namespace

RedisPlusPlusTx::RedisPlusPlusTx(std::vector<redis::Client*> nodes, LockOptions options, std::string key)
    : nodes_(checked(std::move(nodes), options)),
      options_(std::move(options)),
      key_(std::move(key)),
      busy_(nodes_.front()->runtime()),
      mutex_(nodes_.front()->runtime()),
      changed_(nodes_.front()->runtime()) {}

RedisPlusPlusTx::~RedisPlusPlusTx() {
  try {
    {
      const std::scoped_lock guard(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    watcher_ = {};  // joins it
  } catch (const TaskCancelled&) {
  }
}

std::string RedisPlusPlusTx::lease_ms() const {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count());
}

void RedisPlusPlusTx::lock() { poll(kNever, {}); }

bool RedisPlusPlusTx::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  return poll(deadline, stop);
}

bool RedisPlusPlusTx::poll(MonotonicTime deadline, const std::stop_token& stop) {
  Wakeup never(runtime());
  for (bool waiting = false;; waiting = true) {
    const auto most = static_cast<std::uint64_t>(kLongestPause.count());
    const Duration pause(static_cast<Duration::rep>(runtime().random_between(0, most)));
    never.wait_until(std::min(deadline, deadline_after(runtime().now(), pause)), stop);
    if (stop.stop_requested()) {
      throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
    }
    if (try_lock()) return true;
    if (!waiting) tell({.kind = LockEvent::Kind::waiting, .key = key_});
    if (runtime().now() >= deadline) return false;
  }
}

bool RedisPlusPlusTx::try_lock() {
  const std::scoped_lock one_at_a_time(busy_);
  const std::string id = random_uuid(runtime()), lease = lease_ms();
  const MonotonicTime started = runtime().now();
  std::size_t votes = 0;
  std::string_view decider;  // whose vote made it a majority
  for (redis::Client* const node : nodes_) {
    try {
      const redis::Answer answer = node->call({"SET", key_, id, "NX", "PX", lease});
      if (!answer.reply.is_nil() && ++votes == quorum()) decider = answer.node;
    } catch (const redis::Error& error) {
      throw_lock_error(error, key_, error.may_have_executed());
    }
  }
  if (votes < quorum() || runtime().now() - started >= options_.lease) {
    unlock_all(key_);
    return false;
  }
  {
    const std::scoped_lock guard(mutex_);
    hold_ = Hold{runtime().task_id(), id};
    due_.emplace(runtime().now() + options_.lease / 2, 0);
    if (!watcher_.joinable()) watcher_ = runtime().spawn("watchdog", [this] { watch(); });
    changed_.notify_all();
  }
  tell({.kind = LockEvent::Kind::acquired,
        .key = key_,
        .acquisition = id,
        .node = decider,
        .sent_at = started});
  return true;
}

void RedisPlusPlusTx::watch() {
  std::unique_lock guard(mutex_);
  while (!closing_) {
    const MonotonicTime next = due_.empty() ? kNever : due_.begin()->first;
    if (runtime().now() < next) {
      changed_.wait_until(guard, next,
                          [&] { return closing_ || (!due_.empty() && due_.begin()->first < next); });
      continue;
    }
    due_.erase(due_.begin());
    guard.unlock();
    const bool again = extend_all();
    guard.lock();
    if (again) due_.emplace(runtime().now() + options_.lease / 2, 0);
  }
}

bool RedisPlusPlusTx::extend_all() {
  const std::scoped_lock one_at_a_time(busy_);
  std::string id;
  {
    const std::scoped_lock guard(mutex_);
    if (!hold_) return false;
    id = hold_->id;
  }
  LockEvent event{.kind = LockEvent::Kind::renewing, .key = key_, .acquisition = id};
  tell(event);
  const std::string lease = lease_ms();
  const std::array<std::string_view, 1> keys{key_};
  const std::array<std::string_view, 2> args{id, lease};
  const MonotonicTime started = runtime().now();
  std::size_t votes = 0;
  std::string_view decider;
  for (redis::Client* const node : nodes_) {
    try {
      const redis::Answer answer = node->eval(kRedisPlusPlusExtend, keys, args, {.background = true});
      if (answer.reply.integer != 0 && ++votes == quorum()) decider = answer.node;
    } catch (const redis::Error&) {
    }
  }
  if (votes >= quorum() && runtime().now() - started < options_.lease) {
    event.kind = LockEvent::Kind::renewed;
    event.node = decider;
    event.sent_at = started;
    event.valid_until = started + options_.lease;
    tell(event);
    return true;
  }
  unlock_all(key_);
  std::stop_source lost;
  {
    const std::scoped_lock guard(mutex_);
    lost = hold_->lost;
    hold_.reset();
  }
  event.kind = LockEvent::Kind::lost;
  event.reason = "failed to extend RedMutex";
  tell(event);
  lost.request_stop();
  return false;
}

void RedisPlusPlusTx::unlock_all(const std::string& value) {
  const std::array<std::string_view, 1> keys{key_}, args{value};
  for (redis::Client* const node : nodes_) {
    try {
      node->eval(kRedlockUnlock, keys, args);
    } catch (const redis::Error&) {
    }
  }
}

void RedisPlusPlusTx::release() {
  const std::scoped_lock one_at_a_time(busy_);
  std::string id;
  {
    const std::scoped_lock guard(mutex_);
    if (!hold_ || hold_->task != runtime().task_id()) {
      throw NotOwner("lock '" + key_ + "': RedMutex is not locked", key_, "", false);
    }
    id = hold_->id;
  }
  unlock_all(id);
  {
    const std::scoped_lock guard(mutex_);
    hold_.reset();
  }
  tell({.kind = LockEvent::Kind::released, .key = key_, .acquisition = id});
}

int RedisPlusPlusTx::hold_count() const {
  const std::scoped_lock guard(mutex_);
  return hold_ && hold_->task == runtime().task_id() ? 1 : 0;
}

std::string RedisPlusPlusTx::acquisition() const {
  const std::scoped_lock guard(mutex_);
  return hold_ && hold_->task == runtime().task_id() ? hold_->id : std::string();
}

std::stop_token RedisPlusPlusTx::lost() const {
  const std::scoped_lock guard(mutex_);
  return hold_ && hold_->task == runtime().task_id() ? hold_->lost.get_token() : std::stop_token();
}

void RedisPlusPlusTx::tell(const LockEvent& event) const {
  if (options_.observer != nullptr) options_.observer->on_event(event);
}

}  // namespace holdfast::historic
