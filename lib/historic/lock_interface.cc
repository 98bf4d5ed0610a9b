#include "lock_interface.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>

#include "../lock/lock_error_from.h"
#include "../lock/uuid.h"
#include "../lock/wakeup.h"
#include "../redis/error.h"
#include "generated/historic_scripts.h"

namespace holdfast::historic {

const redis::Script kLockInterfaceUnlock = historic_scripts::lock_interface_unlock;

namespace {
constexpr Duration kPollEvery = std::chrono::milliseconds(100);
}  // namespace

LockInterface::LockInterface(redis::Client& client, LockOptions options, std::string key, Unlock unlock)
    : client_(client),
      options_(std::move(options)),
      key_(std::move(key)),
      unlock_(unlock),
      mutex_(client.runtime()) {
  if (options_.lease < std::chrono::milliseconds(1))
    throw std::invalid_argument("a lease must be at least 1 ms");
}

Runtime& LockInterface::runtime() const noexcept { return client_.runtime(); }

void LockInterface::lock() { poll(kNever, {}); }

bool LockInterface::try_lock() {
  try {
    return attempt();
  } catch (const redis::Error& error) {
    throw_lock_error(error, key_, error.may_have_executed());
  }
}

bool LockInterface::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  return poll(deadline, stop);
}

bool LockInterface::poll(MonotonicTime deadline, const std::stop_token& stop) {
  Wakeup never(runtime());
  bool waiting = false;
  while (!try_lock()) {
    if (!waiting) {
      waiting = true;
      tell(LockEvent::Kind::waiting, "", {});
    }
    never.wait_until(std::min(deadline, runtime().now() + kPollEvery), stop);
    if (stop.stop_requested()) {
      throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
    }
    if (runtime().now() >= deadline) return false;
  }
  return true;
}

bool LockInterface::attempt() {
  const std::string uuid = random_uuid(runtime());
  const std::string lease_ms =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(options_.lease).count());
  const redis::Answer answer = client_.call({"SET", key_, uuid, "NX", "PX", lease_ms});
  if (answer.reply.is_nil()) return false;
  {
    const std::scoped_lock guard(mutex_);
    uuids_[runtime().task_id()] = uuid;
  }
  tell(LockEvent::Kind::acquired, uuid, answer);
  return true;
}

void LockInterface::unlock() {
  std::string uuid;
  {
    const std::scoped_lock guard(mutex_);
    const auto found = uuids_.find(runtime().task_id());
    if (found != uuids_.end()) {
      uuid = std::move(found->second);
      uuids_.erase(found);
    }
  }
  try {
    redis::Answer answer;
    if (unlock_ == Unlock::compare_and_delete) {
      const std::array<std::string_view, 1> keys{key_}, args{uuid};
      answer = client_.eval(kLockInterfaceUnlock, keys, args);
    } else {
      answer = client_.call({"GET", key_});
      if (!uuid.empty() && answer.reply.text == uuid) answer = client_.call({"DEL", key_});
    }
    tell(LockEvent::Kind::released, uuid, answer);
  } catch (const redis::Error& error) {
    throw_lock_error(error, key_, error.may_have_executed());
  }
}

bool LockInterface::is_held_by_me() const {
  const std::scoped_lock guard(mutex_);
  return uuids_.contains(client_.runtime().task_id());
}

std::string LockInterface::acquisition() const {
  const std::scoped_lock guard(mutex_);
  const auto found = uuids_.find(client_.runtime().task_id());
  return found == uuids_.end() ? std::string() : found->second;
}

void LockInterface::tell(LockEvent::Kind kind, const std::string& uuid, const redis::Answer& answer) {
  if (options_.observer == nullptr) return;
  LockEvent event{.kind = kind, .key = key_, .acquisition = uuid, .node = answer.node};
  if (kind == LockEvent::Kind::acquired) event.sent_at = answer.sent_at;
  options_.observer->on_event(event);
}

}  // namespace holdfast::historic
