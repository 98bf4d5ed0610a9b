#include "sim/historic/spring/spring_registry.h"

#include <array>
#include <mutex>

#include "generated/historic_scripts.h"
#include "lib/lock/engine/uuid.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

const redis::Script kSpringObtain = historic_scripts::spring_obtain;

// --- SpringLock ----------------------------------------------------------------------------------------

SpringLock::SpringLock(SpringRegistry& registry, const std::string& key)
    : PollingLock(registry.client_,
                  {.lease = registry.options_.expire_after, .observer = registry.options_.observer}, key,
                  registry.registry_key_ + ":" + key),
      registry_(registry),
      local_(registry.client_.runtime()) {}

template <class More>
bool SpringLock::obtain(More more, const std::stop_token& stop) {
  bool waiting = false;
  try {
    while (!ask()) {
      if (!more()) return false;
      if (!waiting) tell(LockEvent::Kind::waiting, "");
      waiting = true;
      pause(runtime().now() + kPollEvery, stop);
    }
  } catch (const Interrupted&) {
    throw;
  } catch (const LockError& error) {
    cannot_acquire(error);
  }
  locked_at_ = runtime().wall_now().time_since_epoch().count();
  return true;
}

void SpringLock::cannot_acquire(const LockError& error) const {
  const std::string what = "lock '" + key_ + "': cannot acquire: " + error.what();
  if (dynamic_cast<const Rejected*>(&error) != nullptr) {
    throw Rejected(what, key_, error.node(), error.may_have_executed());
  }
  throw Unavailable(what, key_, error.node(), error.may_have_executed());
}

void SpringLock::lock() {
  if (hold_count() > 0) {
    obtain([] { return true; }, {});
    return;
  }
  local_.enter(kNever, {});
  GiveBack local{&local_};
  obtain([] { return true; }, {});
  interrupt_ = {};
  local.local = nullptr;
}

bool SpringLock::try_lock() {
  if (hold_count() > 0 && interrupt_.stop_requested()) return false;
  return try_lock_until(runtime().now(), {});
}

bool SpringLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  const WallTime start = runtime().wall_now();
  const Duration wait = deadline == kNever ? Duration::max() : deadline - runtime().now();
  const auto more = [&] { return deadline == kNever || runtime().wall_now() - start < wait; };
  const bool again = hold_count() > 0;
  const LocalLock::Entry entry = !again                  ? local_.enter(deadline, stop)
                                 : stop.stop_requested() ? LocalLock::Entry::stopped
                                                         : LocalLock::Entry::granted;
  if (entry == LocalLock::Entry::timed_out) return false;
  if (entry == LocalLock::Entry::stopped) {
    throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
  }
  GiveBack local{again ? nullptr : &local_};
  try {
    if (!obtain(more, stop)) return false;
  } catch (const Interrupted& error) {
    if (deadline == kNever) throw;
    cannot_acquire(error);  // its catch of any exception
  }
  if (!again) interrupt_ = std::move(stop);
  local.local = nullptr;
  return true;
}

std::optional<PollingLock::Granted> SpringLock::attempt() {
  const std::string expiry = lease_ms();
  const std::array<std::string_view, 1> keys{store_key_};
  const std::array<std::string_view, 2> args{registry_.client_id_, expiry};
  redis::Answer answer = client_.eval(kSpringObtain, keys, args);
  if (answer.reply.is_nil()) return std::nullopt;
  if (hold_count() > 0) return Granted{.acquisition = "", .reentry = true};
  return Granted{.acquisition = registry_.next_acquisition(), .answer = std::move(answer)};
}

void SpringLock::release() {
  if (hold_count() == 0) {
    throw NotOwner("lock '" + key_ + "': you do not own it (not locked by this thread)", key_, "", false);
  }
  const std::string mine = acquisition();
  const std::stop_token interrupt = interrupt_;
  if (!count_down()) return;
  const GiveBack local{&local_};
  try {
    if (!is_acquired_in_this_process()) {
      const std::string what =
          "released in the store due to expiration, the integrity of protected data may have been "
          "compromised";
      tell(LockEvent::Kind::lost, mine, {}, what);
      throw LockLost("lock '" + key_ + "': " + what, key_, "", false);
    }
    if (interrupt.stop_requested()) {
      registry_.execute([self = shared_from_this()] { self->remove_lock_key(); });
    } else {
      remove_lock_key();
    }
    tell(LockEvent::Kind::released, mine);
  } catch (const redis::Error& error) {
    fail(error, error.may_have_executed());
  }
}

// unlock() is this lock's own.
std::optional<redis::Answer> SpringLock::remove(const std::string&) { return std::nullopt; }

bool SpringLock::is_acquired_in_this_process() {
  return client_.call({"GET", store_key_}).reply.text == registry_.client_id_;
}

void SpringLock::remove_lock_key() {
  if (registry_.unlink_available_) {
    try {
      client_.call({"UNLINK", store_key_});
      return;
    } catch (const redis::Error&) {  // logged: not supported by the server?
      registry_.unlink_available_ = false;
    }
  }
  client_.call({"DEL", store_key_});
}

// --- SpringRegistry ------------------------------------------------------------------------------------

SpringRegistry::SpringRegistry(redis::Client& client, std::string registry_key, SpringRegistryOptions options)
    : client_(client),
      registry_key_(std::move(registry_key)),
      options_(options),
      client_id_(random_uuid(client.runtime())),
      mutex_(client.runtime()) {}

SpringRegistry::~SpringRegistry() = default;  // joins the tasks of the pool first

std::shared_ptr<SpringLock> SpringRegistry::obtain(const std::string& key) {
  const std::scoped_lock guard(mutex_);
  std::shared_ptr<SpringLock>& lock = locks_[key];
  if (!lock) lock = std::make_shared<SpringLock>(*this, key);
  return lock;
}

std::size_t SpringRegistry::expire_unused_older_than(Duration age) {
  std::size_t dropped = 0;
  std::map<std::string, std::shared_ptr<SpringLock>> all;
  {
    const std::scoped_lock guard(mutex_);
    all = locks_;
  }
  const WallTime now = client_.runtime().wall_now();
  for (const auto& [key, lock] : all) {
    if (now - WallTime(Duration(lock->locked_at_)) <= age) continue;
    try {
      if (lock->is_acquired_in_this_process()) continue;
    } catch (const redis::Error& error) {
      lock->fail(error, false);
    }
    const std::scoped_lock guard(mutex_);
    const auto found = locks_.find(key);
    if (found == locks_.end() || found->second != lock) continue;
    locks_.erase(found);
    ++dropped;
  }
  return dropped;
}

std::string SpringRegistry::next_acquisition() {
  return client_id_ + "#" + std::to_string(next_acquisition_++);
}

void SpringRegistry::execute(std::function<void()> removal) {
  const auto logged = [removal = std::move(removal)] {
    try {
      removal();
    } catch (const redis::Error&) {  // logged by the executor
    }
  };
  if (executor_) {
    executor_(logged);
    return;
  }
  const std::scoped_lock guard(mutex_);
  std::erase_if(pool_, [](const Task& task) { return task.finished(); });
  pool_.push_back(client_.runtime().spawn("executor", logged));
}

}  // namespace holdfast::historic
