#include "sim/historic/redlock/redlock_classic.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/uuid.h"
#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

const redis::Script kRedlockUnlock = historic_scripts::lock_interface_unlock;

namespace {

std::vector<redis::Client*> checked(std::vector<redis::Client*> nodes, const LockOptions& options) {
  if (nodes.empty()) throw std::invalid_argument("Redlock needs at least one server");
  if (options.lease < std::chrono::milliseconds(1))
    throw std::invalid_argument("a lease must be at least 1 ms");
  return nodes;
}

Duration drift(Duration lease) { return lease / 100 + std::chrono::milliseconds(2); }

}  // namespace

RedlockClassic::RedlockClassic(std::vector<redis::Client*> nodes, LockOptions options, std::string key)
    : nodes_(checked(std::move(nodes), options)),
      options_(std::move(options)),
      key_(std::move(key)),
      mutex_(nodes_.front()->runtime()) {}

void RedlockClassic::lock() { poll(kNever, {}); }

bool RedlockClassic::try_lock() { return attempt(); }

bool RedlockClassic::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  return poll(deadline, stop);
}

bool RedlockClassic::poll(MonotonicTime deadline, const std::stop_token& stop) {
  Wakeup never(runtime());
  for (bool waiting = false; !attempt(); waiting = true) {
    if (!waiting) tell({.kind = LockEvent::Kind::waiting, .key = key_});
    const auto most = static_cast<std::uint64_t>(kRetryDelay.count());
    const Duration delay(static_cast<Duration::rep>(runtime().random_between(1, most)));
    never.wait_until(std::min(deadline, deadline_after(runtime().now(), delay)), stop);
    if (stop.stop_requested()) {
      throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
    }
    if (runtime().now() >= deadline) return false;
  }
  return true;
}

bool RedlockClassic::attempt() {
  const std::string value = random_uuid(runtime());
  const std::string lease_ms =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count());
  const MonotonicTime started = runtime().now();
  const std::size_t quorum = nodes_.size() / 2 + 1;
  std::size_t votes = 0;
  std::string_view decider;  // whose vote made it a majority
  for (redis::Client* const node : nodes_) {
    try {
      const redis::Answer answer = node->call({"SET", key_, value, "NX", "PX", lease_ms},
                                              {.deadline = runtime().now() + kNodeTimeout});
      if (!answer.reply.is_nil() && ++votes == quorum) decider = answer.node;
    } catch (const redis::Error&) {
    }
  }
  const MonotonicTime now = runtime().now();
  const Duration validity = options_.lease - (now - started) - drift(options_.lease);
  if (votes < quorum || validity <= Duration::zero()) {
    release(value);
    return false;
  }
  {
    const std::scoped_lock guard(mutex_);
    holds_[runtime().task_id()] = {value, now + validity};
  }
  tell({.kind = LockEvent::Kind::acquired,
        .key = key_,
        .acquisition = value,
        .node = decider,
        .valid_until = now + validity,
        .sent_at = started});
  return true;
}

void RedlockClassic::release(const std::string& value) {
  const std::array<std::string_view, 1> keys{key_}, args{value};
  for (redis::Client* const node : nodes_) {
    try {
      node->eval(kRedlockUnlock, keys, args, {.deadline = runtime().now() + kNodeTimeout});
    } catch (const redis::Error&) {
    }
  }
}

void RedlockClassic::release() {
  std::string value;
  {
    const std::scoped_lock guard(mutex_);
    const auto found = holds_.find(runtime().task_id());
    if (found == holds_.end()) {
      throw NotOwner("lock '" + key_ + "': the calling task does not hold it", key_, "", false);
    }
    value = std::move(found->second.value);
    holds_.erase(found);
  }
  release(value);
  tell({.kind = LockEvent::Kind::released, .key = key_, .acquisition = value});
}

std::optional<RedlockClassic::Hold> RedlockClassic::hold() const {
  const std::scoped_lock guard(mutex_);
  const auto found = holds_.find(runtime().task_id());
  return found == holds_.end() ? std::nullopt : std::optional(found->second);
}

bool RedlockClassic::is_held_by_me() const {
  const std::optional<Hold> mine = hold();
  return mine && runtime().now() < mine->valid_until;
}

std::optional<MonotonicTime> RedlockClassic::valid_until() const {
  const std::optional<Hold> mine = hold();
  return mine ? std::optional(mine->valid_until) : std::nullopt;
}

std::string RedlockClassic::acquisition() const {
  const std::optional<Hold> mine = hold();
  return mine ? mine->value : std::string();
}

void RedlockClassic::tell(const LockEvent& event) const {
  if (options_.observer != nullptr) options_.observer->on_event(event);
}

}  // namespace holdfast::historic
