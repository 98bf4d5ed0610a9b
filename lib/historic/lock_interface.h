// The hand-written Lock of many articles (published design 3), as published: what the harness compares with.
// Do not use it in an application.
//
//   tryLock()  SET <key> <new UUID> NX PX 30000; on success the thread remembers its UUID
//   lock()     tryLock() every 100 ms until it succeeds
//   unlock()   deletes the key if it has the thread's UUID, in one script; forgets the UUID
//
// Its flaws are kept, this is what it is here for:
//   - no renewal: who stays longer than the lease goes on without the lock and is not told (no valid_until,
//   no
//     lost()); the answer of the unlock script, which would tell, is thrown away;
//   - not reentrant: a thread that locks twice waits for its own lease to run out;
//   - a SET whose reply was lost locks everybody out, its own client first, until the lease ends: the next
//   try
//     comes with another UUID;
//   - waiters poll: up to 100 ms of dead time after each release, no order, one command per waiter and 100
//   ms;
//   - unlock() by a thread that holds nothing is not an error.
// The published one throws on timed and interruptible waiting; here both poll as lock() does, so that a
// workload can be patient within bounds.
//
// Variant `get_then_del`: the unlock that earlier articles show, GET, compare, DEL as two commands. Between
// the two the lease can run out and the DEL removes the lock of somebody else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "../lock/lock.h"
#include "../redis/client.h"
#include "../redis/script.h"

namespace holdfast::historic {

extern const redis::Script kLockInterfaceUnlock;

class LockInterface final : public Lock {
 public:
  enum class Unlock { compare_and_delete, get_then_del };

  // `client` and the observer outlive the lock. LockOptions::renew is ignored. Throws std::invalid_argument
  // for a lease below 1 ms.
  LockInterface(redis::Client& client, LockOptions options, std::string key,
                Unlock unlock = Unlock::compare_and_delete);

  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  void unlock() override;

  // True from a successful tryLock to unlock, whatever became of the lease.
  bool is_held_by_me() const override;
  int hold_count() const override { return is_held_by_me() ? 1 : 0; }
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override;
  std::stop_token lost() const override { return {}; }

  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override;

 private:
  bool attempt();
  bool poll(MonotonicTime deadline, const std::stop_token& stop);
  void tell(LockEvent::Kind kind, const std::string& uuid, const redis::Answer& answer);

  redis::Client& client_;
  const LockOptions options_;
  const std::string key_;
  const Unlock unlock_;
  mutable Mutex mutex_;
  std::map<TaskId, std::string> uuids_;  // the thread-local of the published code
};

}  // namespace holdfast::historic
