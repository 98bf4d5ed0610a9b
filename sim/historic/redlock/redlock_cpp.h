// redlock-cpp (CRedLock) at its commit 0845079, used as its example of a lock that goes on does:
// ContinueLock() gets the lock and keeps it. As published; do not use it in an application.
//
//   call       on each server in turn one script: the key has the id of the call before: DEL; then SET <key>
//              <id> PX <lease> NX, whose OK is a vote. Validity = lease - time used - (lease / 100 + 2 ms);
//              the time comes from time(NULL), in whole seconds. A majority and validity above zero: yes;
//              else the id is deleted on all, a pause of 100 to 300 ms, and again, three times in all
//   lock       a call with a new id
//   continue   the same, in time
//   unlock     deleted on all servers if it has the id
//
// Its flaws are kept, this is what it is here for:
//   - continuing and locking are one call: a lock that is gone is made anew, and the holder learns of
//     nothing, whoever had it meanwhile;
//   - whole seconds of the wall clock: up to one of them is not counted, so a lock is reported as valid that
//     is over; a clock that is set back makes it valid for longer than its lease. Or a whole one is counted
//     that was none: a call that meets the end of a second fails with a lease of a second or less;
//   - a call to continue that fails deletes the votes that it still had, and tries again: another one may
//     have them by then, while the holder counts on the validity that it was told;
//   - one server that does not answer is waited for as long as its client waits;
//   - no fencing, not reentrant, no order, waiters poll.
//
// The publication multiplies the seconds by 1000 in an int, which overflows; the difference of two of them
// comes out right all the same, on machines that wrap around, and here.
//
// Deviations: who continues in time is a task, every third of the lease (`renew`). A hold keeps its id; there
// each call takes a new one and knows the one before. The error of a server counts as a no; the publication
// does not look whether there was an answer, and crashes. Waiting, which it does not have, locks again at
// once. valid_until() is the published validity, from the end of the call on. An unlock belongs to nobody
// there; here to the task that was granted it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/redis/client.h"
#include "lib/redis/script.h"

namespace holdfast::historic {

extern const redis::Script kRedlockCppContinue;  // KEYS[key]  ARGV[id of the call before, id, lease in ms]

class RedlockCpp final : public Lock {
 public:
  static constexpr int kRetries = 3;
  static constexpr Duration kRetryDelay = std::chrono::milliseconds(200);  // from half of it on, so much more

  // `nodes`: one client for each server, none null, at least one. They and the observer outlive the lock.
  // Throws std::invalid_argument for no nodes or a lease below 1 ms.
  RedlockCpp(std::vector<redis::Client*> nodes, LockOptions options, std::string key);
  ~RedlockCpp() override;  // [parks] ends the task

  void lock() override;
  bool try_lock() override;  // [parks] up to three attempts
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // [parks] Throws NotOwner when the calling task was granted nothing, or was told that it is lost.
  void release() override;

  bool is_held_by_me() const override { return hold_count() > 0; }
  int hold_count() const override;
  std::optional<MonotonicTime> valid_until() const override;
  std::string acquisition() const override;
  std::stop_token lost() const override;

  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return nodes_.front()->runtime(); }

 private:
  struct Hold {
    TaskId task{};
    std::string id;
    MonotonicTime valid_until{}, due{};
    std::stop_source lost = {};
  };
  struct Granted {
    std::string_view decider = {};  // whose vote made it a majority
    MonotonicTime sent_at{}, valid_until{};
  };
  std::optional<Granted> call(const std::string& id, bool background, const std::stop_token& stop);
  std::optional<Granted> attempt(const std::string& id, bool background);
  bool poll(MonotonicTime deadline, const std::stop_token& stop);
  void unlock_all(const std::string& id);
  void keep();                                // the task
  void continue_hold(const std::string& id);  // [parks]
  // [parks] False: this ends, or was stopped.
  bool pause(Duration time);
  bool pause(Duration time, const std::stop_token& stop);
  std::int64_t lease_ms() const;
  void tell(const LockEvent& event) const;

  const std::vector<redis::Client*> nodes_;
  const LockOptions options_;
  const std::string key_;
  Mutex busy_;  // a call to continue, or to unlock: there it is one thread that does both
  mutable Mutex mutex_;
  Condition changed_;
  std::optional<Hold> hold_;
  bool closing_ = false;
  Task keeper_;
};

}  // namespace holdfast::historic
