#include "sim/historic/redisson/redisson_semaphore.h"

#include <array>
#include <charconv>
#include <utility>

#include "generated/historic_scripts.h"

namespace holdfast::historic {

const redis::Script kRedissonSemaphoreSet = historic_scripts::redisson_semaphore_set;
const redis::Script kRedissonSemaphoreAcquire = historic_scripts::redisson_semaphore_acquire;
const redis::Script kRedissonSemaphoreRelease = historic_scripts::redisson_semaphore_release;

namespace {

constexpr auto kMessages = RedissonLatches::Messages::semaphore;

bool granted(const redis::Answer& answer) { return answer.reply.integer == 1; }

}  // namespace

RedissonSemaphore::RedissonSemaphore(std::shared_ptr<Redisson> redisson, std::string key)
    : redisson_(std::move(redisson)), key_(std::move(key)), channel_(prefixed("redisson_sc", key_)) {}

bool RedissonSemaphore::try_set_permits(std::int64_t permits) {
  const std::string count = std::to_string(permits);
  const std::array<std::string_view, 2> keys{key_, channel_};
  const std::array<std::string_view, 1> args{count};
  return granted(send_set(keys, args));
}

redis::Answer RedissonSemaphore::try_acquire(std::int64_t permits) {
  const std::string wanted = std::to_string(permits);
  const std::array<std::string_view, 1> keys{key_};
  const std::array<std::string_view, 1> args{wanted};
  return send_acquire(keys, args);
}

redis::Answer RedissonSemaphore::acquire(std::int64_t permits) {
  redis::Answer answer = try_acquire(permits);
  if (granted(answer)) return answer;
  tell_waiting(answer);
  RedissonWaiting waiting(redisson_->latches(), channel_, kMessages);
  const MonotonicTime give_up = deadline_after(runtime().now(), Redisson::kSubscribeTimeout);
  if (!redisson_->latches().wait_subscribed(waiting.latch(), give_up, {})) {
    throw Unavailable("semaphore '" + key_ + "': subscribe timeout", key_, "", false);
  }
  while (!granted(answer = try_acquire(permits))) {
    redisson_->latches().acquire(waiting.latch(), kNever, {});
  }
  return answer;
}

// The time that is left is counted as the original counts it: with System.currentTimeMillis().
redis::Answer RedissonSemaphore::try_acquire_for(Duration wait, std::int64_t permits,
                                                 const std::stop_token& stop) {
  const WallTime started = runtime().wall_now();
  const auto left = [&] { return wait - (runtime().wall_now() - started); };
  redis::Answer answer = try_acquire(permits);
  if (granted(answer) || left() <= Duration::zero()) return answer;
  tell_waiting(answer);
  RedissonWaiting waiting(redisson_->latches(), channel_, kMessages);
  bool in_time =
      redisson_->latches().wait_subscribed(waiting.latch(), deadline_after(runtime().now(), left()), stop);
  while (in_time && left() > Duration::zero()) {
    if (granted(answer = try_acquire(permits))) return answer;
    if (left() <= Duration::zero()) break;
    redisson_->latches().acquire(waiting.latch(), deadline_after(runtime().now(), left()), stop);
    in_time = !stop.stop_requested();
  }
  if (stop.stop_requested()) {
    throw Interrupted("semaphore '" + key_ + "': the wait was stopped", key_, "", false);
  }
  return answer;
}

void RedissonSemaphore::release(std::int64_t permits) {
  const std::string count = std::to_string(permits);
  const std::array<std::string_view, 2> keys{key_, channel_};
  const std::array<std::string_view, 1> args{count};
  send_release(keys, args);
}

redis::Answer RedissonSemaphore::send_set(redis::Arguments keys, redis::Arguments args) {
  return redisson_->eval_unsynced(key_, kRedissonSemaphoreSet, keys, args);
}

redis::Answer RedissonSemaphore::send_acquire(redis::Arguments keys, redis::Arguments args) {
  return redisson_->eval_unsynced(key_, kRedissonSemaphoreAcquire, keys, args);
}

redis::Answer RedissonSemaphore::send_release(redis::Arguments keys, redis::Arguments args) {
  return redisson_->eval_unsynced(key_, kRedissonSemaphoreRelease, keys, args);
}

std::int64_t RedissonSemaphore::available() {
  const std::array<std::string_view, 2> command{"GET", key_};
  const std::string text = redisson_->call(key_, command).reply.text;
  std::int64_t free = 0;
  std::from_chars(text.data(), text.data() + text.size(), free);
  return free;
}

void RedissonSemaphore::tell_waiting(const redis::Answer& answer) const {
  redisson_->tell({.kind = LockEvent::Kind::waiting, .key = key_, .acquisition = "", .node = answer.node});
}

}  // namespace holdfast::historic
