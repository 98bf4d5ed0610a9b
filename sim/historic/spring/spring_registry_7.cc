#include "sim/historic/spring/spring_registry_7.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <system_error>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/lock_error_from.h"
#include "lib/lock/engine/uuid.h"
#include "lib/redis/error.h"
#include "sim/historic/spring/spring_registry.h"

namespace holdfast::historic {

const redis::Script kSpring7Renew = historic_scripts::spring_7_renew;
const redis::Script kSpring7Unlock = historic_scripts::spring_7_unlock;
const redis::Script kSpring7UnlockPublish = historic_scripts::spring_7_unlock_publish;

namespace {

constexpr Duration kForRegistration = std::chrono::seconds(2);

}  // namespace

// --- SpringLock7 ---------------------------------------------------------------------------------------

SpringLock7::SpringLock7(SpringRegistry7& registry, const std::string& key)
    : PollingLock(registry.client_,
                  {.lease = registry.options_.expire_after, .observer = registry.options_.observer}, key,
                  registry.registry_key_ + ":" + key),
      registry_(registry),
      local_(registry.client_.runtime()),
      locked_at_(registry.client_.runtime().wall_now().time_since_epoch().count()),
      mutex_(registry.client_.runtime()) {}

void SpringLock7::lock() {
  const bool again = hold_count() > 0;
  if (!again) local_.enter(kNever, {});
  GiveBack local{again ? nullptr : &local_};
  obtain(Duration::max(), {});
  local.local = nullptr;
}

bool SpringLock7::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  const Duration wait =
      deadline == kNever ? Duration::max() : std::max(Duration::zero(), Duration(deadline - runtime().now()));
  const bool again = hold_count() > 0;
  const LocalLock::Entry entry = !again                  ? local_.enter(deadline, stop)
                                 : stop.stop_requested() ? LocalLock::Entry::stopped
                                                         : LocalLock::Entry::granted;
  if (entry == LocalLock::Entry::timed_out) return false;
  if (entry == LocalLock::Entry::stopped)
    throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
  GiveBack local{again ? nullptr : &local_};
  try {
    if (!obtain(wait, stop)) return false;
  } catch (const Interrupted& error) {
    if (deadline == kNever) throw;
    cannot_acquire(error);  // its catch of any exception
  }
  local.local = nullptr;
  return true;
}

bool SpringLock7::obtain(Duration wait, const std::stop_token& stop) {
  if (!registry_.knows(key_))
    throw Rejected("lock '" + key_ + "': it was evicted from the registry, obtain a fresh one", key_, "",
                   false);
  try {
    if (!(registry_.options_.pub_sub ? subscribe_and_wait(wait, stop) : spin(wait, stop))) return false;
  } catch (const Interrupted&) {
    throw;
  } catch (const LockError& error) {
    cannot_acquire(error);
  }
  locked_at_ = runtime().wall_now().time_since_epoch().count();
  if (!registry_.options_.renews) return true;
  try {
    schedule_renewal();
  } catch (const std::system_error& error) {  // the record stays for its lease
    count_down();
    throw Unavailable("lock '" + key_ + "': cannot acquire: " + error.what(), key_, "", true);
  }
  return true;
}

bool SpringLock7::spin(Duration wait, const std::stop_token& stop) {
  const WallTime start = runtime().wall_now();
  for (bool waiting = false; !ask(); waiting = true) {
    if (wait != Duration::max() && runtime().wall_now() - start >= wait) return false;
    if (!waiting) tell(LockEvent::Kind::waiting, "");
    pause(runtime().now() + kPollEvery, stop);
  }
  return true;
}

bool SpringLock7::subscribe_and_wait(Duration wait, const std::stop_token& stop) {
  const WallTime start = runtime().wall_now();
  if (ask()) return true;
  tell(LockEvent::Kind::waiting, "");
  listen(stop);
  while (wait == Duration::max() || runtime().wall_now() - start <= wait) {
    Wakeup wakeup(runtime());
    struct Notified {
      SpringLock7& lock;
      Notified(SpringLock7& lock, Wakeup* wakeup) : lock(lock) { set(wakeup); }
      ~Notified() { set(nullptr); }
      void set(Wakeup* wakeup) {
        const std::scoped_lock guard(lock.mutex_);
        lock.notified_ = wakeup;
      }
    } const notified(*this, &wakeup);
    if (ask()) return true;
    const Duration sleep = wait == Duration::max() ? options_.lease : wait;
    wakeup.wait_until(deadline_after(runtime().now(), sleep), stop);
    if (stop.stop_requested())
      throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
    if (ask()) return true;
  }
  return false;
}

void SpringLock7::listen(const std::stop_token& stop) {
  Wakeup wakeup(runtime());
  {
    const std::scoped_lock guard(mutex_);
    if (listens_) return;
    const auto heard = [this] {
      const std::scoped_lock in_callback(mutex_);
      listens_ = true;
      if (notified_ != nullptr) notified_->signal();
    };
    if (!subscription_) {
      try {
        subscription_ = client_.subscribe(
            registry_.registry_key_ + "-channel:" + store_key_, [heard](std::string_view) { heard(); },
            heard);
      } catch (const redis::Error& error) {  // no task could be started that listens
        throw_lock_error(error, key_, false);
      }
    }
    notified_ = &wakeup;
  }
  wakeup.wait_until(deadline_after(runtime().now(), kForRegistration), stop);
  const std::scoped_lock guard(mutex_);
  notified_ = nullptr;
}

std::optional<PollingLock::Granted> SpringLock7::attempt() {
  const std::string expiry = lease_ms();
  const std::array<std::string_view, 1> keys{store_key_};
  const std::array<std::string_view, 2> args{registry_.client_id_, expiry};
  redis::Answer answer = client_.eval(kSpringObtain, keys, args);
  if (answer.reply.is_nil()) return std::nullopt;
  if (hold_count() > 0) return Granted{.acquisition = "", .reentry = true};
  return Granted{.acquisition = registry_.next_acquisition(), .answer = std::move(answer)};
}

void SpringLock7::cannot_acquire(const LockError& error) const {
  const std::string what = "lock '" + key_ + "': cannot acquire: " + error.what();
  if (dynamic_cast<const Rejected*>(&error) != nullptr)
    throw Rejected(what, key_, error.node(), error.may_have_executed());
  throw Unavailable(what, key_, error.node(), error.may_have_executed());
}

void SpringLock7::release() {
  if (hold_count() == 0)
    throw NotOwner("lock '" + key_ + "': you do not own it (not locked by this thread)", key_, "", false);
  const std::string mine = acquisition();
  if (!count_down()) return;
  const GiveBack local{&local_};
  try {
    const std::string channel = registry_.registry_key_ + "-channel:" + store_key_;
    const std::array<std::string_view, 1> keys{store_key_}, args{registry_.client_id_};
    const std::array<std::string_view, 2> and_channel{registry_.client_id_, channel};
    const redis::Answer answer = registry_.options_.pub_sub
                                     ? client_.eval(kSpring7UnlockPublish, keys, and_channel)
                                     : client_.eval(kSpring7Unlock, keys, args);
    if (answer.reply.is_nil()) {
      const std::string what =
          "released in the store due to expiration, the integrity of protected data may have been "
          "compromised";
      tell(LockEvent::Kind::lost, mine, {}, what);
      throw LockLost("lock '" + key_ + "': " + what, key_, "", false);
    }
    stop_renewal();
    tell(LockEvent::Kind::released, mine, answer);
  } catch (const redis::Error& error) {
    fail(error, error.may_have_executed());
  }
}

void SpringLock7::schedule_renewal() {
  const auto renewal = std::make_shared<Renewal>();
  const std::string mine = acquisition();
  const auto body = [this, mine, stop = renewal->stop.get_token()] {
    Wakeup never(runtime());
    while (!stop.stop_requested()) {
      renew(mine);
      never.wait_until(deadline_after(runtime().now(), options_.lease / 3), stop);
    }
  };
  const std::scoped_lock guard(mutex_);
  std::erase_if(renewals_, [](const auto& one) { return one->task.finished(); });
  renewals_.push_back(renewal);
  renewal->task = runtime().spawn("watchdog", body);
  renewal_ = renewal;
}

bool SpringLock7::renew(const std::string& acquisition) {
  const std::string expiry = lease_ms();
  const std::array<std::string_view, 1> keys{store_key_};
  const std::array<std::string_view, 2> args{registry_.client_id_, expiry};
  tell(LockEvent::Kind::renewing, acquisition);
  try {
    const redis::Answer answer = client_.eval(kSpring7Renew, keys, args);
    if (!answer.reply.is_nil()) {
      tell(LockEvent::Kind::renewed, acquisition, answer);
      return true;
    }
    tell(LockEvent::Kind::renew_failed, acquisition, answer, "no key of this registry");
    stop_renewal();
  } catch (const redis::Error& error) {  // logged by the scheduler, which goes on
    tell(LockEvent::Kind::renew_failed, acquisition, {}, error.what());
  }
  return false;
}

void SpringLock7::stop_renewal() {
  std::shared_ptr<Renewal> known;
  {
    const std::scoped_lock guard(mutex_);
    known = std::move(renewal_);
    renewal_ = nullptr;
  }
  if (known) known->stop.request_stop();
}

// --- SpringRegistry7 -----------------------------------------------------------------------------------

SpringRegistry7::SpringRegistry7(redis::Client& client, std::string registry_key,
                                 SpringRegistry7Options options)
    : client_(client),
      registry_key_(std::move(registry_key)),
      options_(options),
      client_id_(random_uuid(client.runtime())),
      mutex_(client.runtime()) {}

SpringRegistry7::~SpringRegistry7() {
  for (const auto& [key, lock] : locks_) dropped_.push_back(lock);
  for (const auto& lock : dropped_) {
    for (const auto& renewal : lock->renewals_) renewal->stop.request_stop();
  }
}

std::shared_ptr<SpringLock7> SpringRegistry7::obtain(const std::string& key) {
  const std::scoped_lock guard(mutex_);
  if (const auto found = locks_.find(key); found != locks_.end()) return found->second;
  return locks_.emplace(key, std::make_shared<SpringLock7>(*this, key)).first->second;
}

bool SpringRegistry7::knows(const std::string& key) {
  const std::scoped_lock guard(mutex_);
  return locks_.contains(key);
}

std::size_t SpringRegistry7::expire_unused_older_than(Duration age) {
  const std::scoped_lock guard(mutex_);
  const WallTime now = client_.runtime().wall_now();
  return std::erase_if(locks_, [&](const auto& entry) {
    const auto& lock = entry.second;
    if (now - WallTime(Duration(lock->locked_at_)) < age || lock->local_.taken()) return false;
    dropped_.push_back(lock);
    return true;
  });
}

std::string SpringRegistry7::next_acquisition() {
  return client_id_ + "#" + std::to_string(next_acquisition_++);
}

}  // namespace holdfast::historic
