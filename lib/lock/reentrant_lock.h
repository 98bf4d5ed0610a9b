// ReentrantLock: an exclusive lock on one Redis (or one replicated set), in Redisson's layout, so that C++
// and Java processes can share it (reentrant_scripts.h).
//
// - Who owns it: each outermost acquisition draws an owner of its own, "<uuid of this process>:<number>". A
// new
//   acquisition can therefore never re-enter what an older one left behind. How often the task re-entered is
//   counted here; on the server the count stays 1.
// - Every request can be repeated without harm: acquire asks for the state "mine", release and renew compare
// the
//   owner. So a request whose reply was lost is asked again. An acquire or a release that gives up with its
//   outcome unknown is undone in the background (late_release.h).
// - How long it is valid: valid_until() = sending of the request + lease - 1% - 2 ms on the monotonic clock
//   (lease.h), moved on by the watchdog at a third of the lease (watchdog.h) unless LockOptions::renew is
//   false. A grant whose reply comes after that is not accepted. Loss is told through lost() and the
//   observer.
// - Waiting: the tasks of one process queue here first come first served (turnstile.h), the first of them
// asks
//   Redis. When refused it subscribes to the lock's channel and asks again when the subscription is in force,
//   on a release message, after a reconnect, and when the holder's lease runs out; it never polls. No order
//   is kept between processes.
// - Re-entry neither asks the server nor changes the lease. Re-entering a hold that is lost throws LockLost;
// so
//   does its outermost unlock(); the inner ones only count down.
// - A failover to a replica that had not received the grant loses it: another process may then be granted
// while
//   this one still believes that it holds. No lock on one replicated Redis can exclude that.
//
// Thread safety: all members may be called by any task. Ownership is by task.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "../redis/client.h"
#include "../runtime/runtime.h"
#include "hold.h"
#include "lock.h"

namespace holdfast {

class ReentrantLock final : public Lock {
 public:
  struct Space;  // what the locks of one ReentrantLocks share

  ReentrantLock(std::shared_ptr<Space> space, std::string key);
  // Does not talk to the server and does not throw: a hold that is still there is renewed no more, and its
  // record ends with its lease. REQUIRES: no task is inside a member.
  ~ReentrantLock() override;

  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  void unlock() override;

  bool is_held_by_me() const override;
  int hold_count() const override;
  std::optional<MonotonicTime> valid_until() const override;
  std::string acquisition() const override;
  std::stop_token lost() const override;

  const std::string& key() const noexcept override { return *key_; }
  Runtime& runtime() const noexcept override;

 private:
  struct Mine {
    TaskId task = 0;
    std::shared_ptr<Hold> hold;
    int depth = 0;
  };
  struct Patience;  // how long an acquire may take
  class Attempt;    // one acquire, from the local turn to the grant

  bool acquire(const Patience& patience);
  bool reenter();  // false: the task does not hold it
  void accept(const std::shared_ptr<Hold>& hold, MonotonicTime sent_at);
  void release(Hold& hold);
  const Mine* mine() const;  // under the mutex; null: the calling task does not hold it
  Mine* mine() { return const_cast<Mine*>(std::as_const(*this).mine()); }
  std::shared_ptr<Hold> my_hold() const;  // null: the task does not hold it

  const std::shared_ptr<Space> space_;
  const std::shared_ptr<const std::string> key_;  // shared with its holds
  const std::string channel_;
  const std::shared_ptr<Turnstile> turn_;
  mutable Mutex mutex_;
  std::vector<Mine> mine_;  // the present holder, and tasks whose hold was lost before they unlocked
};

// The reentrant locks of one process on one Redis.
class ReentrantLocks {
 public:
  // `client`, and the observer in `options`, outlive this object and every lock obtained from it. Throws
  // std::invalid_argument when the lease is shorter than 10 ms or not a whole number of milliseconds.
  ReentrantLocks(redis::Client& client, LockOptions options);
  ~ReentrantLocks();

  // The lock of `key`: the same object as long as anybody has it.
  std::shared_ptr<ReentrantLock> obtain(const std::string& key);

 private:
  std::shared_ptr<ReentrantLock::Space> space_;
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<ReentrantLock>> locks_;
  std::size_t sweep_at_ = 64;  // forget expired entries when the map has grown to this
};

}  // namespace holdfast
