#include "sim/historic/lock_interface/lock_interface_fair.h"

#include <mutex>

#include "lib/lock/engine/uuid.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

LockInterfaceFair::LockInterfaceFair(redis::Client& client, LockOptions options, std::string key)
    : LockInterface(client, std::move(options), key), queue_(key + ":queue"), mutex_(client.runtime()) {}

void LockInterfaceFair::lock() {
  enter();
  poll(kNever, {});
}

bool LockInterfaceFair::try_lock() {
  enter();
  if (ask()) return true;
  leave();
  return false;
}

bool LockInterfaceFair::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  enter();
  try {
    if (poll(deadline, stop)) return true;
  } catch (const Interrupted&) {
    leave();
    throw;
  }
  leave();
  return false;
}

std::string LockInterfaceFair::place() {
  const std::scoped_lock guard(mutex_);
  return places_[runtime().task_id()];
}

void LockInterfaceFair::enter() {
  const std::string uuid = random_uuid(runtime());
  {
    const std::scoped_lock guard(mutex_);
    places_[runtime().task_id()] = uuid;
  }
  try {
    tell(LockEvent::Kind::queued, uuid, client_.call({"RPUSH", queue_, uuid}));
  } catch (const redis::Error& error) {
    fail(error, error.may_have_executed());
  }
}

void LockInterfaceFair::leave() {
  const std::string uuid = place();
  try {
    client_.call({"LREM", queue_, "1", uuid});
  } catch (const redis::Error& error) {
    fail(error, error.may_have_executed());
  }
}

std::optional<PollingLock::Granted> LockInterfaceFair::attempt() {
  const std::string uuid = place();
  if (client_.call({"LINDEX", queue_, "0"}).reply.text != uuid) return std::nullopt;
  std::optional<Granted> grant = set_if_absent(uuid);
  if (grant) client_.call({"LPOP", queue_});
  return grant;
}

}  // namespace holdfast::historic
