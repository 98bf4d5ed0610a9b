// Redlock as its author published it ("Distributed locks with Redis", redis.io), on N independent servers. Do
// not use it in an application.
//
//   acquire   note the time; SET <key> <new UUID> NX PX <lease> on each server in turn, each with a timeout
//             that is short beside the lease (50 ms); validity = lease - time used - (lease / 100 + 2 ms);
//             granted when a majority said OK and validity is above zero
//   else      release on all, and again after a random delay (up to 200 ms)
//   unlock    delete if it has the UUID, in one script, on all servers, whatever they answer
//
// A server that cannot be asked counts as a no. Its flaws are kept, this is what it is here for:
//   - no fencing token: a holder that is paused past its validity goes on, and the resource cannot tell;
//   - each server's clock is trusted: one that jumps ahead gives its vote away while the lock is held;
//   - a server that restarts without its memory votes again at once; the text asks for a delayed restart or
//     for fsync at every write, nothing here does;
//   - validity is checked when the last reply is in, and by nobody afterwards; no renewal, lost() never
//     fires, unlock() does not tell that there was nothing left to delete;
//   - the servers are asked one after the other: each that is dead costs its timeout, twice an attempt;
//   - not reentrant, no order, waiters poll.
//
// Deviations: timed and interruptible waiting, which the text does not have, asks again as lock() does.
// LockOptions::renew is ignored. valid_until() is the published validity.
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

extern const redis::Script kRedlockUnlock;  // KEYS[key]  ARGV[UUID]

class RedlockClassic final : public Lock {
 public:
  static constexpr Duration kNodeTimeout = std::chrono::milliseconds(50);
  static constexpr Duration kRetryDelay = std::chrono::milliseconds(200);  // at most

  // `nodes`: one client for each server, none null, at least one. They and the observer outlive the lock.
  // Throws std::invalid_argument for no nodes or a lease below 1 ms.
  RedlockClassic(std::vector<redis::Client*> nodes, LockOptions options, std::string key);

  void lock() override;
  // [parks] One attempt: up to two node timeouts for each server.
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // [parks] Throws NotOwner when the calling task was granted nothing, and nothing else.
  void release() override;

  bool is_held_by_me() const override;  // granted, and its validity is not over
  int hold_count() const override { return hold() ? 1 : 0; }
  std::optional<MonotonicTime> valid_until() const override;
  std::string acquisition() const override;
  std::stop_token lost() const override { return {}; }

  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return nodes_.front()->runtime(); }

 private:
  struct Hold {
    std::string value;
    MonotonicTime valid_until{};
  };
  std::optional<Hold> hold() const;
  bool attempt();
  void release(const std::string& value);
  bool poll(MonotonicTime deadline, const std::stop_token& stop);
  void tell(const LockEvent& event) const;

  const std::vector<redis::Client*> nodes_;
  const LockOptions options_;
  const std::string key_;
  mutable Mutex mutex_;
  std::map<TaskId, Hold> holds_;
};

}  // namespace holdfast::historic
