// The hand-written Lock made fair, as its article suggests: a Redis list of those who wait; each attempt
// checks whether it is its turn. The article gives no code: the steps are a reading. Do not use it in an
// application.
//
//   lock()    RPUSH <key>:queue <new UUID>; every 100 ms: LINDEX <key>:queue 0; if it is the thread's UUID:
//             SET <key> <UUID> NX PX <lease>; when that succeeds: LPOP <key>:queue
//   unlock()  deletes the key if it has the thread's UUID, in one script
//
// The flaws for which it is kept, beside those of lock_interface.h:
//   - a place in the list has no end: a waiter that dies, or whose lock() fails with an error, stays at the
//     head, and nobody gets the lock ever again;
//   - the same when the holder dies between SET and LPOP;
//   - twice the commands for each waiter and 100 ms.
//
// Deviations:
//   - there is no timed lock there; here a wait that ends without the lock gives its place up (LREM), so that
//     patience within bounds does not break it by itself;
//   - those of lock_interface.h.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/historic/lock_interface/lock_interface.h"

namespace holdfast::historic {

class LockInterfaceFair final : public LockInterface {
 public:
  LockInterfaceFair(redis::Client& client, LockOptions options, std::string key);

  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;

 private:
  std::optional<Granted> attempt() override;
  void enter();  // [parks] throws LockError
  void leave();  // [parks] throws LockError
  std::string place();

  const std::string queue_;
  Mutex mutex_;
  std::map<TaskId, std::string> places_;  // of the acquires that are under way
};

}  // namespace holdfast::historic
