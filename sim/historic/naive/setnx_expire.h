// The oldest lock of the articles: SETNX, then EXPIRE, from the time before SET knew NX and PX. As published;
// do not use it in an application.
//
//   lock()    SETNX <key> <value>; if it was set: EXPIRE <key> <seconds>; else again after 100 ms
//   unlock()  DEL <key>
//
// The flaws for which it is kept:
//   - two commands: a client that dies between them, or whose connection does, leaves a lock without a lease:
//     nobody gets it ever again;
//   - unlock() asks nobody: who outlived his lease, or holds nothing at all, removes the lock of somebody
//   else;
//   - those of lock_interface.h: no renewal, no word of a loss, not reentrant, polling.
// The value was a constant or a time in the articles; here it is a UUID, so that a history can tell whose
// record it is. Nothing reads it.
#pragma once

#include <optional>
#include <string>

#include "sim/historic/polling_lock.h"

namespace holdfast::historic {

class SetnxExpire final : public PollingLock {
 public:
  // As LockInterface; the lease is rounded up to whole seconds.
  SetnxExpire(redis::Client& client, LockOptions options, std::string key);

 private:
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
};

}  // namespace holdfast::historic
