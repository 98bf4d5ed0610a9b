// Redisson's RLock as of 3.13.6, as published (design 4). Do not use it in an application.
//
//   state     HASH <key> { "uuid:threadId": count }, lease as its PTTL
//   channel   "redisson_lock__channel:{<key>}"
//   acquire   KEYS[key] ARGV[lease, owner]: free or mine: HINCRBY 1, PEXPIRE, nil; else PTTL
//   unlock    KEYS[key, channel] ARGV[0, lease, owner]: not mine: nil; HINCRBY -1; above zero: PEXPIRE, 0;
//             else DEL, PUBLISH "0", 1
//   renew     KEYS[key] ARGV[lease, owner]: mine: PEXPIRE, 1; else 0. Every third of the 30 s, only when no
//             lease was given
//   waiting   pub/sub and a semaphore per process and channel (redisson_lock.h)
//
// Its flaws are kept, this is what it is here for:
//   - scripts are sent again when no answer came, and they count on the server: a lost reply to an acquire
//     leaves a count that no unlock takes back until the lease ends; one to the inner unlock of two removes
//     the lock under the outer holder;
//   - WAIT is sent with every script and its answer thrown away: nothing is gained from the replicas, and a
//     failover grants twice;
//   - the watchdog stops after one renewal that failed, and the entry that it leaves behind keeps the next
//     hold of that name from being renewed at all;
//   - PEXPIRE is unconditional: re-entry with a shorter lease shortens a watchdog's, and the lock
//     object remembers only the lease of its last acquire;
//   - nobody is told of a loss, and a given lease is never renewed; unlock() finds out;
//   - a message that is lost costs the waiter the holder's PTTL; after a reconnect nothing is asked again.
// Deviations: none but those of redisson_lock.h.
#pragma once

#include "sim/historic/redisson/redisson_lock.h"

namespace holdfast::historic {

extern const redis::Script kRedissonAcquire, kRedissonUnlock, kRedissonForceUnlock;

class RedissonReentrant final : public RedissonLock {
 public:
  RedissonReentrant(std::shared_ptr<Redisson> redisson, std::string key)
      : RedissonLock(std::move(redisson), std::move(key)) {}

 private:
  Told ask(Request& request) override;
  redis::Answer give_back(const std::string& owner) override;
  redis::Answer force() override;
};

}  // namespace holdfast::historic
