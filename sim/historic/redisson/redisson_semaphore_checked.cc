#include "sim/historic/redisson/redisson_semaphore_checked.h"

#include <array>

#include "lib/lock/engine/lock_error_from.h"
#include "lib/redis/error.h"

namespace holdfast::historic {

CheckedAnswer RedissonSemaphoreChecked::send(const redis::Script& script, redis::Arguments keys,
                                             redis::Arguments args) {
  try {
    return eval_checked(*redisson_, *replicas_, script, keys, args);
  } catch (const redis::Error& error) {
    throw_lock_error(error, key(), error.may_have_executed());
  }
}

void RedissonSemaphoreChecked::throw_unacknowledged(const std::string& what,
                                                    const redis::Answer& answer) const {
  throw Unavailable("semaphore '" + key() + "': none of the replicas acknowledged " + what, key(),
                    std::string(answer.node), true);
}

redis::Answer RedissonSemaphoreChecked::send_set(redis::Arguments keys, redis::Arguments args) {
  for (int attempt = 0;; ++attempt) {
    try {
      CheckedAnswer set = eval_checked(*redisson_, *replicas_, kRedissonSemaphoreSet, keys, args);
      if (!set.synced) throw_unacknowledged("its permits", set.answer);
      return std::move(set.answer);
    } catch (const redis::Error& error) {
      const bool again = error.code().empty() && error.worth_another_attempt();
      if (!again || attempt == Redisson::kRetryAttempts || !redisson_->pause(Redisson::kRetryInterval))
        throw_lock_error(error, key(), error.may_have_executed());
    }
  }
}

redis::Answer RedissonSemaphoreChecked::send_acquire(redis::Arguments keys, redis::Arguments args) {
  for (int attempt = 0;; ++attempt) {
    CheckedAnswer taken = send(kRedissonSemaphoreAcquire, keys, args);
    if (taken.synced || taken.answer.reply.integer != 1) return std::move(taken.answer);
    try {
      const std::array<std::string_view, 2> give_back{key(), channel()};
      eval_checked(*redisson_, *replicas_, kRedissonSemaphoreRelease, give_back, args);
    } catch (const redis::Error&) {  // the error of the grant is told
    }
    if (attempt == Redisson::kRetryAttempts || !redisson_->pause(Redisson::kRetryInterval))
      throw_unacknowledged("it", taken.answer);
  }
}

redis::Answer RedissonSemaphoreChecked::send_release(redis::Arguments keys, redis::Arguments args) {
  CheckedAnswer released = send(kRedissonSemaphoreRelease, keys, args);
  if (!released.synced) throw_unacknowledged("its release", released.answer);
  return std::move(released.answer);
}

}  // namespace holdfast::historic
