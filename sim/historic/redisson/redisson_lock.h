// The frame of Redisson's exclusive locks: lock(), tryLock(wait, lease) and unlock() as 3.13.6 goes through
// them; what is sent differs from lock to lock.
//
//   lock()     acquire; refused: subscribe, acquire again, then wait on the local latch for the PTTL that the
//              refusal told (below zero: without bound), acquire again, and so on
//   tryLock    the same with the remaining time, which is counted on the wall clock
//   unlock()   the script; then the renewal is cancelled, whatever came of the script; nil: not the owner
//
// Redisson asks the server who holds the lock, and so does is_held_by_current_thread(). acquisition() is
// Redisson's owner name "uuid:threadId", the same for every hold of a thread. There is no valid_until() and
// no lost().
//
// Deviations: is_held_by_me() and hold_count(), which must not ask a server, count what the task was granted
// and gave back.
//
// Thread safety: any task. Ownership is by task.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "sim/historic/redisson/redisson.h"

namespace holdfast::historic {

class RedissonLock : public Lock {
 public:
  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  void release() override;
  bool force_unlock() override;

  // [parks] As the others, with a lease of their own: tryLock(wait, lease, unit), lock(lease, unit). They are
  // never renewed.
  bool try_lock_with_lease(Duration wait, Duration lease, std::stop_token stop = {});
  void lock_with_lease(Duration lease);

  // [parks] isHeldByCurrentThread(): HEXISTS. False: the holds are no longer counted here either. Throws
  // LockError.
  bool is_held_by_current_thread();
  // [parks] unlock(), on any task, for the holds of `thread`: unlockAsync(threadId).
  void unlock_for(TaskId thread);

  bool is_held_by_me() const override { return hold_count() > 0; }
  int hold_count() const override;
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override;
  std::stop_token lost() const override { return {}; }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return redisson_->runtime(); }

 protected:
  RedissonLock(std::shared_ptr<Redisson> redisson, std::string key);

  // One call of lock() or tryLock().
  struct Request {
    std::string owner;
    std::int64_t lease_ms = 0;
    bool lease_given = false;                     // else it is renewed
    std::optional<Duration> wait = std::nullopt;  // nullopt: lock()
    bool once = false;                            // tryLock() without a wait
    bool queued_told = false;
  };
  struct Told {
    std::optional<std::int64_t> ttl_ms;  // nullopt: granted
    redis::Answer answer;
  };
  // [parks] All throw LockError.
  virtual Told ask(Request& request) = 0;
  virtual redis::Answer give_back(
      const std::string& owner) = 0;  // nil: not the owner; 1: free now; 0: not yet
  virtual redis::Answer force() = 0;  // 1: it was held
  virtual std::string channel(const std::string& /*owner*/) const { return channel_of(key_); }
  virtual void gave_up(const Request&) {}
  // By what name a thread is in the record.
  virtual std::string owner_name(TaskId thread) const { return redisson_->owner(thread); }
  // How the watchdog renews. It may outlive this lock, but not its Redisson.
  virtual RedissonRenewals::Renew renewal() const;

  static std::string channel_of(const std::string& key) { return prefixed("redisson_lock__channel", key); }
  static Told told(redis::Answer answer);

  const std::shared_ptr<Redisson> redisson_;
  const std::string key_;
  const RedissonRenewals::LeaseMs lease_ms_;  // internalLockLeaseTime: every acquire overwrites it

 private:
  Request request(std::optional<Duration> lease) const;
  void lock(Request request);
  bool try_lock(Request request, const std::stop_token& stop);
  bool attempt(Request& request, Told& told);  // true: granted
  void wait_told(const Request& request, const Told& told);
  void tell(LockEvent::Kind kind, const std::string& owner, const redis::Answer& answer);
  [[noreturn]] void throw_interrupted() const;

  mutable Mutex mutex_;
  std::map<TaskId, int> counts_;
};

}  // namespace holdfast::historic
