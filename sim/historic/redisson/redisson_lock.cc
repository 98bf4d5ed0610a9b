#include "sim/historic/redisson/redisson_lock.h"

#include <array>
#include <mutex>
#include <utility>

#include "lib/redis/error.h"

namespace holdfast::historic {
namespace {

std::int64_t milliseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// As long as the script says. TimeUnit.MILLISECONDS.toNanos() stops at its largest value, and so does this:
// the fair script can answer with centuries when the clock of its server has stepped.
Duration as_long_as(std::int64_t ms) {
  constexpr std::int64_t kMost = std::chrono::floor<std::chrono::milliseconds>(Duration::max()).count();
  return ms > kMost ? Duration::max() : std::chrono::milliseconds(ms);
}

}  // namespace

RedissonLock::RedissonLock(std::shared_ptr<Redisson> redisson, std::string key)
    : redisson_(std::move(redisson)),
      key_(std::move(key)),
      lease_ms_(std::make_shared<std::atomic<std::int64_t>>(redisson_->lease_ms())),
      mutex_(redisson_->runtime()) {}

RedissonLock::Request RedissonLock::request(std::optional<Duration> lease) const {
  Request request;
  request.owner = owner_name(redisson_->runtime().task_id());
  const LockOptions& options = redisson_->options();
  request.lease_given = lease || !options.renew;
  request.lease_ms = milliseconds(lease.value_or(options.lease));
  return request;
}

void RedissonLock::lock() { lock(request({})); }
void RedissonLock::lock_with_lease(Duration lease) { lock(request(lease)); }

bool RedissonLock::try_lock() {
  Request once = request({});
  once.once = true;
  Told told;
  return attempt(once, told);
}

bool RedissonLock::try_lock_until(MonotonicTime deadline, std::stop_token stop) {
  const MonotonicTime now = runtime().now();
  if (deadline <= now) return try_lock();
  Request patient = request({});
  patient.wait = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);  // Java's unit at the finest
  return try_lock(std::move(patient), stop);
}

bool RedissonLock::try_lock_with_lease(Duration wait, Duration lease, std::stop_token stop) {
  Request patient = request(lease);
  patient.wait = wait;
  return try_lock(std::move(patient), stop);
}

bool RedissonLock::attempt(Request& request, Told& told) {
  *lease_ms_ = request.lease_ms;
  told = ask(request);
  if (told.ttl_ms) return false;
  const TaskId me = runtime().task_id();
  if (!request.lease_given) redisson_->renewals().schedule(key_, me, lease_ms_, renewal());
  bool first = false;
  {
    const std::scoped_lock guard(mutex_);
    first = ++counts_[me] == 1;
  }
  if (first) tell(LockEvent::Kind::acquired, request.owner, told.answer);
  return true;
}

void RedissonLock::wait_told(const Request& request, const Told& told) {
  tell(LockEvent::Kind::waiting, request.owner, told.answer);
}

void RedissonLock::lock(Request request) {
  Told told;
  if (attempt(request, told)) return;
  wait_told(request, told);
  RedissonWaiting waiting(redisson_->latches(), channel(request.owner));
  const MonotonicTime give_up = deadline_after(runtime().now(), Redisson::kSubscribeTimeout);
  if (!redisson_->latches().wait_subscribed(waiting.latch(), give_up, {})) {
    throw Unavailable("lock '" + key_ + "': subscribe timeout", key_, "", false);
  }
  while (!attempt(request, told)) {
    const MonotonicTime until =
        *told.ttl_ms < 0 ? kNever : deadline_after(runtime().now(), as_long_as(*told.ttl_ms));
    redisson_->latches().acquire(waiting.latch(), until, {});
  }
}

// The time that is left is counted as the original counts it: with System.currentTimeMillis().
bool RedissonLock::try_lock(Request request, const std::stop_token& stop) {
  const WallTime started = runtime().wall_now();
  const auto left = [&] { return *request.wait - (runtime().wall_now() - started); };
  const auto out_of_time = [&] {
    if (left() > Duration::zero()) return false;
    gave_up(request);
    return true;
  };
  Told told;
  if (attempt(request, told)) return true;
  if (out_of_time()) return false;
  wait_told(request, told);
  RedissonWaiting waiting(redisson_->latches(), channel(request.owner));
  if (!redisson_->latches().wait_subscribed(waiting.latch(), deadline_after(runtime().now(), left()), stop)) {
    if (stop.stop_requested()) throw_interrupted();
    gave_up(request);
    return false;
  }
  for (;;) {
    if (out_of_time()) return false;
    if (attempt(request, told)) return true;
    if (out_of_time()) return false;
    Duration time = left();
    const Duration ttl = as_long_as(*told.ttl_ms);
    if (ttl >= Duration::zero() && ttl < time) time = ttl;
    redisson_->latches().acquire(waiting.latch(), deadline_after(runtime().now(), time), stop);
    if (stop.stop_requested()) throw_interrupted();
  }
}

RedissonRenewals::Renew RedissonLock::renewal() const {
  return [redisson = redisson_.get()](const std::string& name, TaskId thread, std::int64_t lease_ms) {
    const std::array<std::string_view, 1> keys{name};
    return redisson->renew(name, redisson->owner(thread), kRedissonRenew, keys, lease_ms);
  };
}

bool RedissonLock::is_held_by_current_thread() {
  const TaskId me = runtime().task_id();
  const std::string owner = owner_name(me);
  const std::array<std::string_view, 3> command{"HEXISTS", key_, owner};
  if (redisson_->call(key_, command).reply.integer == 1) return true;
  const std::scoped_lock guard(mutex_);
  counts_.erase(me);
  return false;
}

void RedissonLock::release() { unlock_for(runtime().task_id()); }

void RedissonLock::unlock_for(TaskId me) {
  const std::string owner = owner_name(me);
  redis::Answer answer;
  try {
    answer = give_back(owner);
  } catch (const LockError&) {
    redisson_->renewals().cancel(key_, me);
    const std::scoped_lock guard(mutex_);
    counts_.erase(me);
    throw;
  }
  redisson_->renewals().cancel(key_, me);
  const bool not_owner = answer.reply.is_nil();
  {
    const std::scoped_lock guard(mutex_);
    const auto found = counts_.find(me);
    if (found != counts_.end() && (not_owner || --found->second == 0)) counts_.erase(found);
  }
  if (not_owner) {
    throw NotOwner("lock '" + key_ + "': attempt to unlock it, not locked by current thread (" + owner + ")",
                   key_, std::string(answer.node), false);
  }
  if (answer.reply.integer == 1) tell(LockEvent::Kind::released, owner, answer);
}

bool RedissonLock::force_unlock() {
  redisson_->renewals().cancel(key_, std::nullopt);
  return force().reply.integer == 1;
}

int RedissonLock::hold_count() const {
  const std::scoped_lock guard(mutex_);
  const auto found = counts_.find(redisson_->runtime().task_id());
  return found == counts_.end() ? 0 : found->second;
}

std::string RedissonLock::acquisition() const {
  return is_held_by_me() ? owner_name(redisson_->runtime().task_id()) : std::string();
}

RedissonLock::Told RedissonLock::told(redis::Answer answer) {
  Told told;
  if (!answer.reply.is_nil()) told.ttl_ms = answer.reply.integer;
  told.answer = std::move(answer);
  return told;
}

void RedissonLock::tell(LockEvent::Kind kind, const std::string& owner, const redis::Answer& answer) {
  LockEvent event{.kind = kind, .key = key_, .acquisition = owner, .node = answer.node};
  if (kind == LockEvent::Kind::acquired) event.sent_at = answer.sent_at;
  redisson_->tell(event);
}

void RedissonLock::throw_interrupted() const {
  throw Interrupted("lock '" + key_ + "': the wait was stopped", key_, "", false);
}

}  // namespace holdfast::historic
