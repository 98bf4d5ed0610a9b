// The reentrant lock in Redisson's layout, for processes that share locks with Java processes on Redisson:
// HASH <key> { "<uuid>:<number>": 1 }, and the message "0" on "redisson_lock__channel:{key}" at release, as
// RLock has them. What it promises is what the reentrant lock promises (reentrant_lock.h), except that it
// gives no tokens, and that an uncontended pair costs the server twice as much.
#pragma once

#include "lib/lock/api/guard.h"
#include "lib/lock/api/locks.h"
#include "lib/redis/threaded_client.h"

namespace holdfast {

class RedissonLocks final : public Locks {
 public:
  // See Locks::Locks. Throws std::invalid_argument also when `fencing` is asked for.
  RedissonLocks(redis::Client& client, LockOptions options);

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
