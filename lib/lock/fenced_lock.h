// The fenced lock: as the reentrant one (reentrant_lock.h), in the same layout, and each grant comes with a
// fencing token, Lock::token(): a number greater than that of every earlier grant of the key. A resource that
// remembers the greatest token it has seen, and refuses smaller ones, is safe from holders that outlived
// their lease, and from double grants after a failover.
//
// The token is drawn by the script that grants (never read later), once for each hold (not for a re-entry),
// and is the same when the request had to be repeated. How it survives the loss of its counter:
// reentrant_scripts.h. After: Martin Kleppmann, How to do distributed locking (2016).
#pragma once

#include "locks.h"

namespace holdfast {

class FencedLocks final : public Locks {
 public:
  // See Locks::Locks; `fencing` is always on.
  FencedLocks(redis::Client& client, LockOptions options);

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
