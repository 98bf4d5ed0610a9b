// The hand-written Lock of many articles (published design 3), as published: what the harness compares with.
// Do not use it in an application.
//
//   tryLock()  SET <key> <new UUID> NX PX 30000; on success the thread remembers its UUID
//   lock()     tryLock() every 100 ms until it succeeds; an interrupt becomes a runtime exception
//   unlock()   deletes the key if it has the thread's UUID, in one script, whose answer is ignored; then the
//              thread forgets the UUID, but not in a `finally`: when the script fails, it keeps it, and a
//              second unlock() deletes
//
// Its flaws are kept, this is what it is here for:
//   - no renewal: who stays longer than the lease goes on without the lock and is not told (no valid_until,
//     no lost()); the answer of the unlock script, which would tell, is thrown away;
//   - not reentrant: a thread that locks twice waits for its own lease to run out;
//   - a SET whose reply was lost locks everybody out, its own client first, until the lease ends: the next
//     try comes with another UUID;
//   - waiters poll: up to 100 ms of dead time after each release, no order, a command per waiter and 100 ms;
//   - unlock() by a thread that holds nothing is not an error.
//
// Deviations:
//   - timed and interruptible waiting is unsupported there; here both poll as lock() does;
//   - an interrupt is a stop request of such a wait, and its runtime exception is Interrupted;
//   - conditions are unsupported there; here is no such call;
//   - the lease of 30 s can be set.
#pragma once

#include <optional>
#include <string>

#include "lib/redis/script.h"
#include "sim/historic/polling_lock.h"

namespace holdfast::historic {

extern const redis::Script kLockInterfaceUnlock;

class LockInterface : public PollingLock {
 public:
  // `client` and the observer outlive the lock. LockOptions::renew is ignored. Throws std::invalid_argument
  // for a lease below 1 ms.
  LockInterface(redis::Client& client, LockOptions options, std::string key);

 protected:
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
};

}  // namespace holdfast::historic
