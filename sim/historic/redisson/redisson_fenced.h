// Redisson's RFencedLock (4.7), its later RLock with a token, as its documentation uses it: lock(), then
// getToken(). Do not use it in an application.
//
//   record    as redisson_wait_connected.h; STRING "redisson_lock_token:{<key>}": the counter, without an end
//   acquire   the script counts the record and the counter up, at a re-entry, too: {-1, token}; else
//             {PTTL, -1}. Granted when the first number is -1. Nobody acknowledged though there are replicas:
//             an error, and nothing is taken back
//   getToken  GET of the counter
//   unlock, renew, waiting   as redisson_wait_connected.h
//
// Its flaws are kept, this is what it is here for:
//   - getToken() is what the counter says now: a holder that asks late is given the token of its successor;
//   - a re-entry makes the token of the outer section an old one;
//   - a record that has no end has a PTTL of -1: whoever asks is "granted" it, by the same number;
//   - after an error for want of replicas the record stays for its lease, and nobody has it;
//   - the counter shares the fate of the lock, as in fencing_incr.h; the rest of redisson_wait_connected.h.
//
// Deviations: those of redisson_wait_connected.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/historic/redisson/redisson_wait_connected.h"

namespace holdfast::historic {

extern const redis::Script kRedissonFencedAcquire;

class RedissonFenced final : public RedissonWaitConnected {
 public:
  using RedissonWaitConnected::RedissonWaitConnected;

  // [parks] getToken(), of whoever calls it. nullopt: nobody was ever granted it. Throws LockError.
  std::optional<std::uint64_t> token() const override;
  // The name of the counter of `key`.
  static std::string counter_of(const std::string& key) { return prefixed("redisson_lock_token", key); }

 private:
  Told ask(Request& request) override;
};

}  // namespace holdfast::historic
