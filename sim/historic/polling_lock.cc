#include "sim/historic/polling_lock.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "lib/lock/engine/lock_error_from.h"
#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

PollingLock::PollingLock(redis::Client& client, LockOptions options, std::string key, std::string store_key,
                         Forgets forgets)
    : client_(client),
      options_(std::move(options)),
      key_(std::move(key)),
      store_key_(std::move(store_key)),
      forgets_(forgets),
      mutex_(client.runtime()) {
  if (options_.lease < std::chrono::milliseconds(1))
    throw std::invalid_argument("a lease must be at least 1 ms");
}

void PollingLock::lock() { poll(kNever, {}); }

bool PollingLock::try_lock() { return ask(); }

bool PollingLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  return poll(deadline, stop);
}

bool PollingLock::poll(MonotonicTime deadline, const std::stop_token& stop) {
  bool waiting = false;
  while (!ask()) {
    if (!waiting) tell(LockEvent::Kind::waiting, "");
    waiting = true;
    pause(std::min(deadline, runtime().now() + kPollEvery), stop);
    if (runtime().now() >= deadline) return false;
  }
  return true;
}

void PollingLock::pause(MonotonicTime until, const std::stop_token& stop) {
  Wakeup(runtime()).wait_until(until, stop);
  if (stop.stop_requested()) {
    throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
  }
}

bool PollingLock::ask() {
  try {
    const std::optional<Granted> grant = attempt();
    if (!grant) return false;
    {
      const std::scoped_lock guard(mutex_);
      Mine& mine = mine_[runtime().task_id()];
      if (grant->reentry) {
        ++mine.depth;
        return true;
      }
      mine = {grant->acquisition, 1, grant->token};
    }
    granted(*grant);
    if (options_.observer != nullptr) {
      options_.observer->on_event({.kind = LockEvent::Kind::acquired,
                                   .key = key_,
                                   .acquisition = grant->acquisition,
                                   .node = grant->answer.node,
                                   .sent_at = grant->answer.sent_at,
                                   .token = grant->token});
    }
    return true;
  } catch (const redis::Error& error) {
    fail(error, error.may_have_executed());
  }
}

void PollingLock::release() {
  const bool afterwards = forgets_ == Forgets::afterwards && hold_count() <= 1;
  const std::optional<std::string> mine = afterwards ? acquisition() : count_down();
  if (!mine) return;
  try {
    const auto answer = remove(*mine);
    if (afterwards) count_down();
    if (answer) tell(LockEvent::Kind::released, *mine, *answer);
  } catch (const redis::Error& error) {
    fail(error, error.may_have_executed());
  }
}

std::optional<std::string> PollingLock::count_down() {
  const std::scoped_lock guard(mutex_);
  const auto found = mine_.find(runtime().task_id());
  if (found == mine_.end()) return "";
  if (--found->second.depth > 0) return std::nullopt;
  std::string acquisition = std::move(found->second.acquisition);
  mine_.erase(found);
  return acquisition;
}

int PollingLock::hold_count() const {
  const std::scoped_lock guard(mutex_);
  const auto found = mine_.find(runtime().task_id());
  return found == mine_.end() ? 0 : found->second.depth;
}

std::string PollingLock::acquisition() const {
  const std::scoped_lock guard(mutex_);
  const auto found = mine_.find(runtime().task_id());
  return found == mine_.end() ? std::string() : found->second.acquisition;
}

std::optional<std::uint64_t> PollingLock::token() const {
  const std::scoped_lock guard(mutex_);
  const auto found = mine_.find(runtime().task_id());
  return found == mine_.end() ? std::nullopt : found->second.token;
}

std::optional<PollingLock::Granted> PollingLock::set_if_absent(const std::string& value) {
  const std::string lease = lease_ms();
  redis::Answer answer = client_.call({"SET", store_key_, value, "NX", "PX", lease});
  if (answer.reply.is_nil()) return std::nullopt;
  return Granted{.acquisition = value, .answer = std::move(answer)};
}

std::string PollingLock::lease_ms() const {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count());
}

std::string PollingLock::lease_s() const {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(options_.lease).count());
}

void PollingLock::tell(LockEvent::Kind kind, const std::string& acquisition, const redis::Answer& answer,
                       std::string_view reason) {
  if (options_.observer == nullptr) return;
  options_.observer->on_event(
      {.kind = kind, .key = key_, .acquisition = acquisition, .node = answer.node, .reason = reason});
}

void PollingLock::fail(const redis::Error& error, bool may_have_executed) const {
  throw_lock_error(error, key_, may_have_executed);
}

}  // namespace holdfast::historic
