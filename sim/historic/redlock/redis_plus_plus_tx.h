// redis++'s RedMutex with scripting = false (RedMutexTx), on one server or several. As published; do not use
// it in an application.
//
//   try_lock  SET <key> <new id> NX PX <lease> on each server in turn; granted when a majority said OK and
//             time of the lease is left; else unlock "with the resource's name"
//   lock      a pause of up to 5 ms, then try_lock(), until it succeeds
//   extend    on each server: GET; its own id: PEXPIRE, and it counts; absent, or the id of somebody else: it
//             counts as well; only an error does not. No majority: unlock as above, and the mutex forgets
//             that it is locked; the application's callback is told
//   watcher   one thread a mutex. Every grant gives it a task, due after half the lease: mutex not locked, or
//             not extended: the task ends; else it is due again after half the lease
//   unlock    on each server: GET; its own id: DEL. Errors are swallowed
//
// Its flaws are kept, this is what it is here for:
//   - an extension succeeds for whoever has lost the lock: it believes for ever;
//   - what was taken without a majority is "unlocked" by the name of the resource, which is nobody's id: it
//     stays for its lease;
//   - a server that cannot be asked makes try_lock() throw: a majority that lives does not help, and what the
//     servers before it granted stays;
//   - tasks pile up: one for each grant within half a lease;
//   - no drift is taken off the lease;
//   - not reentrant: a thread that locks twice waits for ever, for its own renewed lock.
//
// Deviations: WATCH, GET, MULTI, the command and EXEC are one script here, so nothing comes between them.
// Timed and interruptible waiting, which it does not have, asks again as lock() does. Its mutex belongs to no
// thread: any may unlock it. Here that is the task to which it was granted last.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/redis/client.h"
#include "lib/redis/script.h"

namespace holdfast::historic {

extern const redis::Script kRedisPlusPlusExtend;  // KEYS[key]  ARGV[id, lease in ms]

class RedisPlusPlusTx final : public Lock {
 public:
  static constexpr Duration kLongestPause = std::chrono::milliseconds(5);

  // `nodes`: one client for each server, none null, at least one. They and the observer outlive the lock.
  // Throws std::invalid_argument for no nodes or a lease below 1 ms.
  RedisPlusPlusTx(std::vector<redis::Client*> nodes, LockOptions options, std::string key);
  ~RedisPlusPlusTx() override;  // [parks] ends the watcher

  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // [parks] Throws NotOwner when the calling task was granted nothing, or was told that it is lost.
  void release() override;

  bool is_held_by_me() const override { return hold_count() > 0; }
  int hold_count() const override;
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override;
  std::stop_token lost() const override;

  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return nodes_.front()->runtime(); }

 private:
  struct Hold {
    TaskId task{};
    std::string id;
    std::stop_source lost = {};
  };
  bool poll(MonotonicTime deadline, const std::stop_token& stop);
  void unlock_all(const std::string& value);
  void watch();
  bool extend_all();  // false: the task of the watcher that asks for it ends
  std::size_t quorum() const { return nodes_.size() / 2 + 1; }
  std::string lease_ms() const;
  void tell(const LockEvent& event) const;

  const std::vector<redis::Client*> nodes_;
  const LockOptions options_;
  const std::string key_;
  Mutex busy_;  // one of try_lock(), extend_all() and release() at a time, network and all
  mutable Mutex mutex_;
  Condition changed_;
  std::optional<Hold> hold_;
  std::multimap<MonotonicTime, int> due_;  // the tasks of the watcher
  bool closing_ = false;
  Task watcher_;
};

}  // namespace holdfast::historic
