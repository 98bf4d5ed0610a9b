// Redisson's fair lock as of 3.13.6, as published (design 4). Do not use it in an application.
//
//   state     the reentrant lock's hash <key>; LIST "redisson_lock_queue:{<key>}" of owners; ZSET
//             "redisson_lock_timeout:{<key>}" owner -> when it may be dropped, on the clients' clocks; each
//             waiter listens to "redisson_lock__channel:{<key>}:<owner>"
//   each      script begins with: while the head's time is over, drop it
//   acquire   ARGV[lease, owner, wait, now]: free, and nobody queues or I am the head: mine; mine already:
//             one more; queued already: score - wait - now; else to the end of the queue with (the last one's
//             score - now, or PTTL) + wait + now. tryLock() without a wait has ARGV[lease, owner, now, wait]
//             and never queues
//   unlock    as the reentrant lock's, but the message goes to the head of the queue
//   wait      300 s, or what tryLock was given
//
// Its flaws are kept, this is what it is here for (beside those of redisson_reentrant.h):
//   - a waiter that died blocks all behind it for up to 300 s, k of them for k times as long, with the lock
//     free; one whose give-up was lost, or whose wait was interrupted, as well;
//   - the time to wait that a queued one is told turns below zero once the first lease is over, and is taken
//     for "until a message comes": if the holder dies, it hangs;
//   - a live waiter whose 300 s are over is dropped, and no message reaches it;
//   - tryLock(30, SECONDS) without a lease queues for 30 ms: the unit is lost on the way. When it gives up,
//     the real 30 s are taken off everybody behind;
//   - scores are made and judged by the clients' clocks;
//   - unlock() of a lock that is gone succeeds: its holder never learns;
//   - a missing score makes every script fail.
//
// Variant `as_described`: as the article has it, ARGV[3] = now + 5000 where the script means a wait. Scores
// come to about twice the present time: no dead head is ever dropped.
//
// Deviations: those of redisson_lock.h. A wait has no unit here: one of whole seconds counts as given in
// seconds.
#pragma once

#include <chrono>

#include "sim/historic/redisson/redisson_lock.h"

namespace holdfast::historic {

extern const redis::Script kRedissonFairAcquire, kRedissonFairTry, kRedissonFairUnlock, kRedissonFairGiveUp,
    kRedissonFairForceUnlock;

class RedissonFair final : public RedissonLock {
 public:
  enum class Reading { source, as_described };
  static constexpr Duration kThreadWait = std::chrono::seconds(300);
  static constexpr Duration kThreadWaitDescribed = std::chrono::seconds(5);

  RedissonFair(std::shared_ptr<Redisson> redisson, std::string key, Reading reading = Reading::source)
      : RedissonLock(std::move(redisson), std::move(key)),
        reading_(reading),
        queue_(prefixed("redisson_lock_queue", key_)),
        timeouts_(prefixed("redisson_lock_timeout", key_)) {}

 private:
  Told ask(Request& request) override;
  redis::Answer give_back(const std::string& owner) override;
  redis::Answer force() override;
  std::string channel(const std::string& owner) const override { return channel_of(key_) + ":" + owner; }
  void gave_up(const Request& request) override;

  std::int64_t now_ms() const;
  Duration thread_wait() const;

  const Reading reading_;
  const std::string queue_, timeouts_;
};

}  // namespace holdfast::historic
