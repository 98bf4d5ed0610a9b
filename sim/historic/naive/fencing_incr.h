// The "fencing token" that articles add to a lock: INCR of a counter in the same Redis. As published; do not
// use it in an application.
//
//   lock()    SET <key> <new UUID> NX PX <lease> every 100 ms until it succeeds; then INCR <key>:fencing,
//             whose answer is the token of the hold
//   unlock()  deletes the key if it has the thread's UUID, in one script
//
// The flaws for which it is kept:
//   - the counter shares the fate of the lock: after a failover to a replica that lags, or a restart without
//     persistence, it falls back, and a token is given twice: a resource that takes the higher one or an
//     equal one lets both holders write;
//   - two commands: a holder that is late with its INCR, after its lease, gets a greater token than its
//     successor; and when the INCR fails, the lock stays behind for a lease;
//   - those of lock_interface.h.
#pragma once

#include <optional>
#include <string>

#include "sim/historic/lock_interface/lock_interface.h"

namespace holdfast::historic {

class FencingIncr final : public LockInterface {
 public:
  FencingIncr(redis::Client& client, LockOptions options, std::string key);

 private:
  std::optional<Granted> attempt() override;

  const std::string counter_;
};

}  // namespace holdfast::historic
