// Redisson's RCountDownLatch as of 3.13.6, as published. Do not use it in an application.
//
//   state      STRING <key>: the count; channel "redisson_countdownlatch__channel__{<key>}"
//   set        trySetCount: SET and PUBLISH "1", unless the key is there; "1" closes the local gates
//   countDown  DECR; zero or below: DEL; zero: PUBLISH "0", which opens them
//   getCount   GET, or 0 when there is no key
//   await      count 0: done. Subscribe; while the count is above 0, wait at the gate: await() without any
//              bound, await(wait) with the time left
//
// Its flaws are kept, this is what it is here for:
//   - a key that is missing is an open latch: one that nobody has set yet, or that a failover, a restart or
//     an eviction lost, lets everybody through; a count down before the set is lost;
//   - countDown is sent again when no answer came: a lost reply counts twice, and the latch opens early;
//   - await() looks at the key again only when a message comes: when it is lost, it waits for ever.
// Deviations: the wait of await ends by a stop token, not by an interrupt.
//
// Thread safety: any task.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "sim/historic/redisson/redisson.h"

namespace holdfast::historic {

class RedissonCountDownLatch {
 public:
  RedissonCountDownLatch(std::shared_ptr<Redisson> redisson, std::string key);

  // [parks] All throw LockError. False: a count is running.
  bool try_set_count(std::int64_t count);
  void count_down();
  std::int64_t count();
  void await() { await_for(std::nullopt); }
  // False: not open in that time; nullopt: without bound.
  bool await_for(std::optional<Duration> wait, const std::stop_token& stop = {});

  const std::string& key() const noexcept { return key_; }
  Runtime& runtime() const noexcept { return redisson_->runtime(); }

 private:
  const std::shared_ptr<Redisson> redisson_;
  const std::string key_, channel_;
};

}  // namespace holdfast::historic
