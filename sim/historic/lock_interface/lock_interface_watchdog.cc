#include "sim/historic/lock_interface/lock_interface_watchdog.h"

#include <mutex>

#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

LockInterfaceWatchdog::LockInterfaceWatchdog(redis::Client& client, LockOptions options, std::string key)
    : LockInterface(client, std::move(options), std::move(key)), mutex_(client.runtime()) {}

LockInterfaceWatchdog::~LockInterfaceWatchdog() = default;

void LockInterfaceWatchdog::end_all() {
  for (Watch& watch : watches_) watch.stop.request_stop();
  watches_.clear();  // joins them
}

void LockInterfaceWatchdog::granted(const Granted& grant) {
  const std::scoped_lock guard(mutex_);
  std::erase_if(watches_,
                [](const Watch& watch) { return watch.stop.stop_requested() && watch.task.finished(); });
  Watch& mine = watches_.emplace_back();
  by_holder_[runtime().task_id()] = &mine;
  mine.task = runtime().spawn("watchdog", [this, acquisition = grant.acquisition,
                                           stop = mine.stop.get_token()] { watch(acquisition, stop); });
}

void LockInterfaceWatchdog::watch(const std::string& acquisition, const std::stop_token& stop) {
  const Duration every = options_.lease / 3;
  Wakeup wakeup(runtime());
  for (MonotonicTime next = runtime().now() + every;; next += every) {
    wakeup.wait_until(next, stop);
    if (stop.stop_requested()) return;
    tell(LockEvent::Kind::renewing, acquisition);
    try {
      if (finds_it_held()) renew(acquisition);
    } catch (const redis::Error& error) {
      tell(LockEvent::Kind::renew_failed, acquisition, {}, error.what());
    }
  }
}

void LockInterfaceWatchdog::renew(const std::string& acquisition) {
  const std::string lease = lease_ms();
  const redis::Answer answer = client_.call({"PEXPIRE", store_key_, lease}, {.background = true});
  if (answer.reply.integer == 0 || options_.observer == nullptr) return;
  options_.observer->on_event({.kind = LockEvent::Kind::renewed,
                               .key = key_,
                               .acquisition = acquisition,
                               .node = answer.node,
                               .valid_until = answer.sent_at + options_.lease,
                               .sent_at = answer.sent_at});
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

// acquisition() is that of the calling task: of the watchdog itself, which holds nothing.
bool LockInterfaceWatchdogThreadLocal::finds_it_held() {
  const redis::Answer answer = client_.call({"GET", store_key_}, {.background = true});
  return !answer.reply.is_nil() && answer.reply.text == acquisition();
}

bool LockInterfaceWatchdogBlind::finds_it_held() {
  return client_.call({"EXISTS", store_key_}, {.background = true}).reply.integer == 1;
}

}  // namespace holdfast::historic
