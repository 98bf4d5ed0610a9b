// The reentrant lock: exclusive, on one Redis (or one replicated set), with its record in one string
// (reentrant_scripts.h). Everything that it promises is said in wire_lock.h.
//
// - Waiting: the tasks of one process queue here first come first served (turnstile.h), the first of
//   them asks Redis. When refused it is called by a release (wake_channel.h): the server calls who has
//   waited longest, keeps the lock for it for 100 ms, and should that one be unable to ask by then, the next
//   one does. It also asks when the channel comes back after a reconnect, and when the holder's lease runs
//   out; it never polls. So processes that want a lock again and again take turns; where a lease ran out, or
//   who was called did not come, whoever asks first gets it (the fair lock keeps the order then, too).
// - A failover to a replica that had not received the grant loses it: another process may then be
//   granted while this one still believes that it holds. LockOptions::replicas narrows that; no lock on
//   one replicated Redis can exclude it.
#pragma once

#include "locks.h"

namespace holdfast {

// The reentrant locks of one process on one Redis.
class ReentrantLocks final : public Locks {
 public:
  // See Locks::Locks.
  ReentrantLocks(redis::Client& client, LockOptions options) : Locks(client, std::move(options)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
