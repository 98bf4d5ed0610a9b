#include "sim/historic/lock_interface/lock_interface_watchdog.h"

#include <mutex>

#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

LockInterfaceWatchdog::LockInterfaceWatchdog(redis::Client& client, LockOptions options, std::string key)
    : LockInterface(client, std::move(options), std::move(key)), mutex_(client.runtime()) {}

LockInterfaceWatchdog::~LockInterfaceWatchdog() {
  for (Watch& watch : watches_) watch.stop.request_stop();
}

void LockInterfaceWatchdog::granted(const Granted& grant) {
  const std::scoped_lock guard(mutex_);
  std::erase_if(watches_,
                [](const Watch& watch) { return watch.stop.stop_requested() && watch.task.finished(); });
  Watch& watch = watches_.emplace_back();
  by_holder_[runtime().task_id()] = &watch;
  watch.task = runtime().spawn("watchdog", [this, acquisition = grant.acquisition,
                                            stop = watch.stop.get_token()] { renew(acquisition, stop); });
}

void LockInterfaceWatchdog::renew(const std::string& acquisition, const std::stop_token& stop) {
  const Duration every = options_.lease / 3;
  const std::string lease = lease_ms();
  Wakeup wakeup(runtime());
  for (MonotonicTime next = runtime().now() + every;; next += every) {
    wakeup.wait_until(next, stop);
    if (stop.stop_requested()) return;
    tell(LockEvent::Kind::renewing, acquisition);
    try {
      const redis::Answer answer = client_.call({"PEXPIRE", store_key_, lease}, {.background = true});
      if (answer.reply.integer == 0 || options_.observer == nullptr) continue;
      options_.observer->on_event({.kind = LockEvent::Kind::renewed,
                                   .key = key_,
                                   .acquisition = acquisition,
                                   .node = answer.node,
                                   .valid_until = answer.sent_at + options_.lease,
                                   .sent_at = answer.sent_at});
    } catch (const redis::Error& error) {
      tell(LockEvent::Kind::renew_failed, acquisition, {}, error.what());
      return;  // as a ScheduledExecutorService does with what throws
    }
  }
}

std::optional<redis::Answer> LockInterfaceWatchdog::remove(const std::string& acquisition) {
  {
    const std::scoped_lock guard(mutex_);
    const auto mine = by_holder_.find(runtime().task_id());
    if (mine != by_holder_.end()) {
      mine->second->stop.request_stop();
      by_holder_.erase(mine);
    }
  }
  return LockInterface::remove(acquisition);
}

}  // namespace holdfast::historic
