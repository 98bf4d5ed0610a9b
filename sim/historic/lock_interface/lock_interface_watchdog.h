// The hand-written Lock with a watchdog, as its article suggests: while the lock is held, a scheduled task
// renews it at intervals. Do not use it in an application.
//
//   lock()    SET <key> <new UUID> NX PX <lease> every 100 ms until it succeeds; then, at a fixed rate of a
//             third of the lease: PEXPIRE <key> <lease>
//   unlock()  ends the task; deletes the key if it has the thread's UUID, in one script
//
// The flaws for which it is kept, beside those of lock_interface.h:
//   - a scheduled task that throws is not run again: one connection that breaks at the wrong moment, and the
//     lock is not renewed any more; nobody is told;
//   - it renews by key and asks nobody: after a pause longer than the lease it renews the lock of a
//   successor;
//   - a thread that locks twice waits for ever, for its own renewed lock; so does everybody when a thread
//     ends without unlock() while its process lives.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "sim/historic/lock_interface/lock_interface.h"

namespace holdfast::historic {

class LockInterfaceWatchdog final : public LockInterface {
 public:
  LockInterfaceWatchdog(redis::Client& client, LockOptions options, std::string key);
  ~LockInterfaceWatchdog() override;  // [parks] ends all tasks

 private:
  struct Watch {
    std::stop_source stop = {};
    Task task = {};
  };
  void granted(const Granted& grant) override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
  void renew(const std::string& acquisition, const std::stop_token& stop);

  Mutex mutex_;
  std::list<Watch> watches_;            // those that ended go at the next grant
  std::map<TaskId, Watch*> by_holder_;  // the newest of each task
};

}  // namespace holdfast::historic
