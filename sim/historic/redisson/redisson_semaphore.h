// Redisson's RSemaphore as of 3.13.6, as published. Do not use it in an application.
//
//   state     STRING <key>: the free permits; channel "redisson_sc:{<key>}"
//   set       trySetPermits: SET and PUBLISH the number, unless the key is there
//   acquire   GET >= wanted: DECRBY, 1; else 0. Refused: subscribe, acquire again, then wait on the local
//             latch, acquire again, and so on: acquire() without any bound, tryAcquire(wait) with the time
//             that is left
//   release   INCRBY, PUBLISH the new number; a message wakes as many as it says, of those who wait here
//
// Its flaws are kept, this is what it is here for:
//   - a permit has no owner: release() by anybody, and once too often, makes one more of them;
//   - a permit has no lease: that of a client which dies is gone for ever, and one whose release failed, too;
//   - both scripts are sent again when no answer came: a lost reply to an acquire takes two permits, one to a
//     release gives two back;
//   - acquire() looks at the key again only when a message comes: one is lost, and it waits beside a free
//     permit;
//   - nothing is waited for on replicas: a failover brings back what was taken, or takes what was given back.
// Deviations: the wait of tryAcquire ends by a stop token, not by an interrupt.
//
// Thread safety: any task.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "sim/historic/redisson/redisson.h"

namespace holdfast::historic {

extern const redis::Script kRedissonSemaphoreSet, kRedissonSemaphoreAcquire, kRedissonSemaphoreRelease;

class RedissonSemaphore {
 public:
  RedissonSemaphore(std::shared_ptr<Redisson> redisson, std::string key);
  virtual ~RedissonSemaphore() = default;

  // [parks] All throw LockError. False: there are permits already.
  bool try_set_permits(std::int64_t permits);
  redis::Answer acquire(std::int64_t permits = 1);  // until they are there
  // Granted: the answer is 1.
  redis::Answer try_acquire(std::int64_t permits = 1);
  redis::Answer try_acquire_for(Duration wait, std::int64_t permits = 1, const std::stop_token& stop = {});
  void release(std::int64_t permits = 1);
  std::int64_t available();

  const std::string& key() const noexcept { return key_; }
  Runtime& runtime() const noexcept { return redisson_->runtime(); }

 protected:
  // [parks] How each script is sent. All throw LockError.
  virtual redis::Answer send_set(redis::Arguments keys, redis::Arguments args);
  virtual redis::Answer send_acquire(redis::Arguments keys, redis::Arguments args);
  virtual redis::Answer send_release(redis::Arguments keys, redis::Arguments args);
  const std::string& channel() const noexcept { return channel_; }

  const std::shared_ptr<Redisson> redisson_;

 private:
  void tell_waiting(const redis::Answer& answer) const;

  const std::string key_, channel_;
};

}  // namespace holdfast::historic
