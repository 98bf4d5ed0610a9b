// The spin lock: as the reentrant one (reentrant_lock.h), in the same layout, but who is refused asks again
// after 1, 2, 4 .. 128 ms (half of it drawn), instead of subscribing to a channel. For very many locks of
// which each is seldom waited for: no subscription, no message.
#pragma once

#include "locks.h"

namespace holdfast {

class SpinLocks final : public Locks {
 public:
  // See Locks::Locks.
  SpinLocks(redis::Client& client, LockOptions options) : Locks(client, std::move(options)) {}

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
};

}  // namespace holdfast
