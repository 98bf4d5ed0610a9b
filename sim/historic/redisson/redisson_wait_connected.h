// Redisson's RLock with the later check of replicas (since 3.17), as its documentation praises it: the lock
// "never keeps what was not safely replicated". Do not use it in an application.
//
//   record and channel as redisson_reentrant.h
//   acquire   the number of replicas: remembered, or INFO's connected_slaves; the script, and WAIT <number>
//             1000 on the same connection; a number that WAIT does not confirm is forgotten. Nobody
//             acknowledged though there are replicas: unlock, and again after 1500 ms, three times, then an
//             error. No replicas connected, or one server configured: no check
//   unlock    KEYS[key, channel, "redisson_unlock_latch:{<key>}:<request>"] ARGV[0, lease, owner, publish,
//             ms]: the answer is kept for a while, so that it may be asked again; then DEL of it. The same
//             check
//   renew     every third; an error is survived, a lock that is gone ends it
//
// Its flaws are kept, this is what it is here for:
//   - connected replicas are counted, not configured ones: when the only one is cut off, the check is
//     skipped, and its promotion grants twice;
//   - one acknowledgement is enough, whoever is promoted later; it counts memory: a replica that
//     acknowledged and restarted empty is promoted all the same;
//   - between grant and taking it back others may see it; a lost reply to an acquire leaves the lock to its
//     lease, for it is not asked again;
//   - the rest of the lock as in 3.13.6: count on the server, unconditional PEXPIRE, loss never told.
//
// Deviations: those of redisson_lock.h. One name is renewed by one call (originally up to 100). WAIT's answer
// counts for a grant only: to a refusal it says nothing on a connection that others use as well.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "sim/historic/redisson/redisson_lock.h"

namespace holdfast::historic {

extern const redis::Script kRedissonLatchUnlock;

// How many replicas are connected, as far as a process remembers.
class ConnectedReplicas {
 public:
  explicit ConnectedReplicas(std::shared_ptr<Redisson> redisson)
      : redisson_(std::move(redisson)), mutex_(redisson_->runtime()) {}
  // [parks] INFO is sent again where no answer came, as what only reads is. Throws redis::Error.
  int count();
  void acknowledged(std::int64_t replicas);  // other than remembered: forgotten

 private:
  std::string ask();

  const std::shared_ptr<Redisson> redisson_;
  Mutex mutex_;
  std::optional<int> known_;
};

// The script once, with WAIT for them on the same connection where there are any.
struct CheckedAnswer {
  redis::Answer answer;
  bool synced = true;  // somebody acknowledged it, or there is nobody
};
// [parks] Throws redis::Error.
CheckedAnswer eval_checked(Redisson& redisson, ConnectedReplicas& replicas, const redis::Script& script,
                           redis::Arguments keys, redis::Arguments args);

class RedissonWaitConnected : public RedissonLock {
 public:
  // REQUIRES: `redisson` was made with Persistence::goes_on.
  RedissonWaitConnected(std::shared_ptr<Redisson> redisson, std::shared_ptr<ConnectedReplicas> replicas,
                        std::string key)
      : RedissonLock(std::move(redisson), std::move(key)), replicas_(std::move(replicas)) {}

 protected:
  Told ask(Request& request) override;

  // [parks] Throws redis::Error.
  CheckedAnswer eval_checked(const redis::Script& script, redis::Arguments keys, redis::Arguments args) {
    return historic::eval_checked(*redisson_, *replicas_, script, keys, args);
  }

 private:
  redis::Answer give_back(const std::string& owner) override;
  redis::Answer force() override;

  CheckedAnswer unlock_once(const std::string& owner, const std::string& latch);
  std::string latch_name() const;

  const std::shared_ptr<ConnectedReplicas> replicas_;
};

}  // namespace holdfast::historic
