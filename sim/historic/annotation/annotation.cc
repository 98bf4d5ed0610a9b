#include "sim/historic/annotation/annotation.h"

#include <mutex>

#include "lib/lock/engine/uuid.h"

namespace holdfast::historic {

const std::string_view kAnnotationPrefix = "lock:";

AnnotationLock::AnnotationLock(redis::Client& client, const AnnotationOptions& options, std::string key)
    : PollingLock(client, {.lease = options.expired_time, .observer = options.observer}, key,
                  std::string(kAnnotationPrefix) + key),
      timeout_for_lock_(options.timeout_for_lock),
      mutex_(client.runtime()) {}

void AnnotationLock::lock() {
  begin_call();
  const WallTime start = runtime().wall_now();
  bool waiting = false;
  while (runtime().wall_now() - start < timeout_for_lock_) {
    if (ask()) return;
    if (!waiting) tell(LockEvent::Kind::waiting, "");
    waiting = true;
    sleep_between_attempts();
  }
  throw WaitTimeout("lock '" + key_ + "': failed to get the lock", key_, "", false);
}

bool AnnotationLock::try_lock() {
  begin_call();
  return PollingLock::try_lock();
}

bool AnnotationLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  begin_call();
  return PollingLock::try_lock_until(deadline, std::move(stop));
}

void AnnotationLock::sleep_between_attempts() { runtime().sleep_for(kPollEvery); }

void AnnotationLock::begin_call() {
  std::string uuid = random_uuid(runtime());
  const std::scoped_lock guard(mutex_);
  uuids_[runtime().task_id()] = std::move(uuid);
}

std::optional<PollingLock::Granted> AnnotationLock::attempt() {
  std::string uuid;
  {
    const std::scoped_lock guard(mutex_);
    uuid = uuids_[runtime().task_id()];
  }
  const std::string expiry = lease_s();
  redis::Answer answer = client_.call({"SET", store_key_, uuid, "EX", expiry, "NX"});
  if (answer.reply.is_nil()) return std::nullopt;
  return Granted{.acquisition = uuid, .answer = std::move(answer)};
}

std::optional<redis::Answer> AnnotationLock::remove(const std::string& acquisition) {
  redis::Answer answer = client_.call({"GET", store_key_});
  if (!acquisition.empty() && answer.reply.text == acquisition) return client_.call({"DEL", store_key_});
  if (!acquisition.empty()) tell(LockEvent::Kind::lost, acquisition, answer, "the lock has expired");
  return std::nullopt;
}

}  // namespace holdfast::historic
