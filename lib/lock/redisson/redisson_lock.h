// The reentrant lock in Redisson's layout, for processes that share locks with Java processes on Redisson:
// HASH <key> { "<uuid>:<number>": 1 }, and the message "0" on "redisson_lock__channel:{key}" at release, as
// RLock has them. What it promises is what the reentrant lock promises (reentrant_lock.h), except that it
// gives no tokens, and that an uncontended pair costs the server twice as much.
//
// - Who waits in processes of ours stands in a queue of our own, beside the key, and a release by one of
//   us makes the first of them the holder: two commands a grant. Redisson's clients see one holder after
//   another.
// - Redisson's clients are not in that queue. When the lock was ours eight times in a row while one of them
//   listens on its channel, it is left to them: for 200 ms nobody of ours who is ready to wait takes it (a
//   try_lock() may). So they get each ninth turn where they take it up within that time. A client that is
//   further away than that may starve while processes of ours want the lock without a pause.
// - A client of Redisson that releases wakes the first of our queue and Redisson's waiters: whoever is first.
//   If it wants the lock again at once, that is itself, as among clients of Redisson alone.
// - Processes of the version before are taken for clients of Redisson.
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
