// The hand-written Lock with a watchdog, as its article suggests: a task "at intervals checks whether the
// lock is held" and renews it. The article gives no code, and leaves out how the task would know: the lock's
// UUID is in a thread-local, and the task runs on another thread. So there are two readings, each a lock of
// its own. Do not use them in an application.
//
//   lock()    SET <key> <new UUID> NX PX <lease> every 100 ms until it succeeds; then a task looks at a fixed
//             rate of a third of the lease:
//               thread-local  GET <key>; if it is the UUID of the task's own thread: PEXPIRE <key> <lease>
//               blind         EXISTS <key>; if it is there, whoever has it: PEXPIRE <key> <lease>
//   unlock()  ends the task; deletes the key if it has the thread's UUID, in one script
//
// Nothing in the text says that an error ends the task: it looks again at the next interval.
//
// The flaws for which they are kept, beside those of lock_interface.h:
//   - thread-local: the task's thread has no UUID, so it never finds the lock its own and never renews: the
//     watchdog runs, and work longer than the lease goes on without the lock;
//   - blind: it renews by key: after a pause longer than the lease, the lock of a successor;
//   - blind: a thread that locks twice waits for ever, for its own renewed lock; so does everybody when a
//     thread ends without unlock() while its process lives.
//
// Deviations: those of lock_interface.h.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "sim/historic/lock_interface/lock_interface.h"

namespace holdfast::historic {

// What both readings share: when the task looks, and when it ends.
class LockInterfaceWatchdog : public LockInterface {
 public:
  LockInterfaceWatchdog(redis::Client& client, LockOptions options, std::string key);
  ~LockInterfaceWatchdog() override;  // [parks] REQUIRES: end_all() was called

 protected:
  // [parks] The check of the reading, on the task: may the lock be renewed? May throw redis::Error.
  virtual bool finds_it_held() = 0;
  void end_all();  // [parks] ends all tasks; what they call is still there

 private:
  struct Watch {
    std::stop_source stop = {};
    Task task = {};
  };
  void granted(const Granted& grant) override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
  void watch(const std::string& acquisition, const std::stop_token& stop);
  void renew(const std::string& acquisition);

  Mutex mutex_;
  std::list<Watch> watches_;            // those that ended go at the next grant
  std::map<TaskId, Watch*> by_holder_;  // the newest of each task
};

class LockInterfaceWatchdogThreadLocal final : public LockInterfaceWatchdog {
 public:
  using LockInterfaceWatchdog::LockInterfaceWatchdog;
  ~LockInterfaceWatchdogThreadLocal() override { end_all(); }

 private:
  bool finds_it_held() override;
};

class LockInterfaceWatchdogBlind final : public LockInterfaceWatchdog {
 public:
  using LockInterfaceWatchdog::LockInterfaceWatchdog;
  ~LockInterfaceWatchdogBlind() override { end_all(); }

 private:
  bool finds_it_held() override;
};

}  // namespace holdfast::historic
