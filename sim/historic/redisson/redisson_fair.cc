#include "sim/historic/redisson/redisson_fair.h"

#include <array>

#include "generated/historic_scripts.h"

namespace holdfast::historic {

const redis::Script kRedissonFairAcquire = historic_scripts::redisson_fair_acquire;
const redis::Script kRedissonFairTry = historic_scripts::redisson_fair_try;
const redis::Script kRedissonFairUnlock = historic_scripts::redisson_fair_unlock;
const redis::Script kRedissonFairGiveUp = historic_scripts::redisson_fair_give_up;
const redis::Script kRedissonFairForceUnlock = historic_scripts::redisson_fair_force_unlock;

namespace {

std::int64_t milliseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

// What arrives in the script of a wait that the caller gave. Without a lease of its own the number goes on in
// its own unit and is read as milliseconds.
std::int64_t wait_ms(Duration wait, bool lease_given) {
  const bool in_seconds = wait % std::chrono::seconds(1) == Duration::zero();
  return in_seconds && !lease_given ? wait / std::chrono::seconds(1) : milliseconds(wait);
}

}  // namespace

std::int64_t RedissonFair::now_ms() const { return milliseconds(runtime().wall_now().time_since_epoch()); }

Duration RedissonFair::thread_wait() const {
  return reading_ == Reading::source ? kThreadWait : kThreadWaitDescribed;
}

RedissonLock::Told RedissonFair::ask(Request& request) {
  const std::string lease = std::to_string(request.lease_ms), now = std::to_string(now_ms());
  const std::array<std::string_view, 3> keys{key_, queue_, timeouts_};
  if (request.once) {
    const std::string wait = std::to_string(milliseconds(thread_wait()));
    const std::array<std::string_view, 4> args{lease, request.owner, now, wait};
    return told(redisson_->eval_write(key_, kRedissonFairTry, keys, args));
  }
  std::int64_t third = milliseconds(thread_wait());
  if (reading_ == Reading::as_described) {
    third += now_ms();
  } else if (request.wait) {
    third = wait_ms(*request.wait, request.lease_given);
  }
  const std::string wait = std::to_string(third);
  const std::array<std::string_view, 4> args{lease, request.owner, wait, now};
  Told answer = told(redisson_->eval_write(key_, kRedissonFairAcquire, keys, args));
  if (answer.ttl_ms && !request.queued_told) {
    request.queued_told = true;
    redisson_->tell({.kind = LockEvent::Kind::queued,
                     .key = key_,
                     .acquisition = request.owner,
                     .node = answer.answer.node});
  }
  return answer;
}

redis::Answer RedissonFair::give_back(const std::string& owner) {
  const std::string lease = std::to_string(lease_ms_->load()), now = std::to_string(now_ms()),
                    channel = channel_of(key_);
  const std::array<std::string_view, 4> keys{key_, queue_, timeouts_, channel};
  const std::array<std::string_view, 4> args{"0", lease, owner, now};
  return redisson_->eval_write(key_, kRedissonFairUnlock, keys, args);
}

void RedissonFair::gave_up(const Request& request) {
  const std::string wait = std::to_string(milliseconds(request.wait.value_or(thread_wait())));
  const std::array<std::string_view, 2> keys{queue_, timeouts_};
  const std::array<std::string_view, 2> args{request.owner, wait};
  redisson_->eval_write(key_, kRedissonFairGiveUp, keys, args);
}

redis::Answer RedissonFair::force() {
  const std::string now = std::to_string(now_ms()), channel = channel_of(key_);
  const std::array<std::string_view, 4> keys{key_, queue_, timeouts_, channel};
  const std::array<std::string_view, 2> args{"0", now};
  return redisson_->eval_write(key_, kRedissonFairForceUnlock, keys, args);
}

}  // namespace holdfast::historic
