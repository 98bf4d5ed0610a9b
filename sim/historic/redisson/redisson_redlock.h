// RedissonRedLock as of 3.13.6, over RedissonMultiLock, as published. Do not use it in an application.
//
//   members   one RLock (redisson_reentrant.h) of the same key on each of n servers
//   tryLock   (wait, lease): each member in turn, tryLock for the smaller of what is left of the wait and
//             (wait / n), but 1 ms at least; with a lease of twice the wait, or of the lease where no wait is
//             given; without a lease the watchdog of each member renews it. A member that answers too late is
//             unlocked. n - (n / 2 + 1) may fail; as many are left when that many are still open: enough. One
//             more: all that are held are unlocked; without a wait false, else from the first member again.
//             The wait is over: unlock, false
//             granted with a lease: PEXPIRE <key> <lease> on every member that is held, whoever's it is
//   lock      tryLock again and again: with a wait of n x 1500 ms; with a lease: of that lease, but 2 s at
//             least, and of a random part of it where it is longer
//   unlock    every member at once; whatever goes wrong is swallowed
//
// Its flaws are kept, this is what it is here for:
//   - nobody compares the time that it took with the lease: members that were granted first may have expired
//     when the last one answers, and it is granted all the same;
//   - the PEXPIRE at the end does not look whose the record is: it extends the next holder's;
//   - with a wait and a lease the members are taken for twice the wait, however long or short the lease is;
//   - unlock() tells nobody that there was nothing to unlock, and an error of a member leaves it locked;
//   - an interrupt counts as a member that failed;
//   - no fencing token; a server that forgets, or whose clock jumps, votes twice; what is said of scripts,
//     watchdog and messages in redisson_reentrant.h.
// Deviations: the clients of one process share one uuid, so that a hold has one name in a history. An
// interrupt is a stop token: one call heeds it once.
// The observer is told of the hold as a whole: it begins with the request by which a majority was complete,
// or with the PEXPIREs of its lease, and is renewed when a majority is.
//
// Thread safety: any task. Ownership is by task.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/historic/redisson/redisson_reentrant.h"

namespace holdfast::historic {

// The Redisson clients of one process, one for each server.
class RedissonServers {
 public:
  // `nodes`: none null, at least one. They and the observer outlive this. Throws std::invalid_argument for a
  // lease below 1 ms.
  RedissonServers(const std::vector<redis::Client*>& nodes, const LockOptions& options);

  const std::vector<std::shared_ptr<Redisson>>& all() const { return servers_; }
  const LockOptions& options() const { return options_; }
  std::string owner(TaskId thread) const { return servers_.front()->owner(thread); }
  // For the observer: until when a majority of the members is good, by its lease; nullopt: none.
  std::optional<MonotonicTime> good_until(const std::string& key, TaskId thread) const;

 private:
  class Majority;
  const LockOptions options_;
  std::shared_ptr<Majority> majority_;
  std::vector<std::unique_ptr<LockObserver>> members_;  // one for each server, told by its locks
  std::vector<std::shared_ptr<Redisson>> servers_;
};

class RedissonRedLock final : public Lock {
 public:
  static constexpr Duration kWaitPerMember = std::chrono::milliseconds(1500);
  static constexpr Duration kLeastWait = std::chrono::milliseconds(2000);

  RedissonRedLock(std::shared_ptr<RedissonServers> servers, std::string key);

  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  void release() override;

  bool is_held_by_me() const override { return hold_count() > 0; }
  int hold_count() const override;
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override;
  std::stop_token lost() const override { return {}; }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return servers_->all().front()->runtime(); }

 private:
  using Members = std::vector<std::size_t>;  // by number, in the order in which they were taken
  std::optional<Duration> lease() const;     // that every call gives; nullopt: the watchdog's
  std::size_t may_fail() const { return members_.size() - (members_.size() / 2 + 1); }
  bool try_lock(std::optional<Duration> wait, std::optional<Duration> lease, std::stop_token stop);
  bool take(std::size_t member, std::optional<Duration> wait, std::optional<Duration> lease,
            std::stop_token& stop);
  void at_once(const Members& members, const std::function<void(std::size_t member)>& act);
  void unlock_members(const Members& members, TaskId thread);
  void expire(const Members& members, Duration lease);
  void granted(MonotonicTime sent_at);

  const std::shared_ptr<RedissonServers> servers_;
  const std::string key_;
  std::vector<std::unique_ptr<RedissonReentrant>> members_;
  mutable Mutex mutex_;
  std::map<TaskId, int> counts_;
};

}  // namespace holdfast::historic
