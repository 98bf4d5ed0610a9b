// WireLock: the lock behind every kind that lives on one Redis (or one replicated set). What differs between
// kinds is in its Wire; what they share is here and in Attempt, Watchdog and LateRelease. What they promise:
// locks.h.
//
// Thread safety: all members may be called by any task. Ownership is by task, or by Owner (owner.h).
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/lock/api/owner.h"
#include "lib/lock/engine/attempt.h"
#include "lib/lock/engine/lock_context.h"
#include "lib/lock/engine/wire.h"

namespace holdfast {

class WireLock : public Lock {
 public:
  WireLock(std::shared_ptr<LockContext> context, Wire wire);
  // Does not wait for a server and does not throw: a hold that is still there is given back in the background
  // (LateRelease), or ends with its lease. REQUIRES: no task is inside a member.
  ~WireLock() override;

  void lock() override { acquire_within({}); }
  bool try_lock() override { return try_lock_by(kNever); }
  using Lock::try_lock_until;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  bool try_lock_leased(Duration lease, MonotonicTime deadline, std::stop_token stop = {}) override;
  void release() override { release_by(kNever); }
  bool try_lock_by(MonotonicTime deadline) override;
  void release_by(MonotonicTime deadline) override;

  void extend(Duration lease) override;
  std::string detach() override;
  bool adopt(const std::string& detached) override;

  bool is_held_by_me() const override;
  int hold_count() const override;
  std::optional<MonotonicTime> valid_until() const override;
  std::string acquisition() const override;
  std::stop_token lost() const override;
  std::optional<std::uint64_t> token() const override;
  bool in_use() const override;
  bool force_unlock() override;
  std::string record() const override;

  const std::string& key() const noexcept override { return wire_->key; }
  Runtime& runtime() const noexcept override { return context_->runtime; }
  std::string_view mode() const noexcept override { return wire_->mode; }

  // --- for the kinds that are more than a Lock ---------------------------------------------------------
  // [parks] As try_lock_until() with `patience`, for `permits` at once.
  bool acquire_within(const Patience& patience, int permits = 1);
  // The hold of the calling task (its latest one); null: none.
  std::shared_ptr<Hold> my_hold() const;
  // Counts the caller's hold down by `depth`. At zero takes it out of this lock's hands, unwatched, for its
  // release or to go on elsewhere; else null. Throws NotOwner, LockLost.
  std::shared_ptr<Hold> take(int depth);
  // The caller holds `hold` here from now on, `depth` deep. `sent_at`: of the request that granted it.
  // `asked_at`: when the caller asked for it; nullopt: it had it in another form. Where it throws, the hold
  // is given back, and its turn is the caller's.
  void put(const std::shared_ptr<Hold>& hold, MonotonicTime sent_at, int depth,
           std::optional<MonotonicTime> asked_at = std::nullopt);
  // What the caller had here, `depth` deep, went with `hold`: lost, and still to be given back.
  void put_lost(const Hold& hold, int depth);
  // False when it is known to be lost; tells the loss when nobody had noticed it.
  bool check(Hold& hold) { return context_->watchdog.check(hold); }
  const Wire& wire() const noexcept { return *wire_; }
  const std::shared_ptr<const Wire>& shared_wire() const noexcept { return wire_; }

 protected:
  const std::shared_ptr<LockContext> context_;

 private:
  struct Mine {
    HolderId holder = 0;
    std::shared_ptr<Hold> hold;
    int depth = 0;
  };

  bool ask_for(MonotonicTime came, const Patience& patience, int permits);
  bool enter_queue(bool queue, const Patience& patience);
  bool reenter(Hold& hold, const Patience& patience);
  void give_back(Hold& hold, MonotonicTime deadline);
  [[noreturn]] void give_back_unwatched(const Hold& hold);
  void give_back_later(const Hold& hold);
  void forget(const Hold& hold);
  bool moves() const;
  const Mine* mine() const;  // under the mutex; null: the caller does not hold it
  Mine* mine() { return const_cast<Mine*>(std::as_const(*this).mine()); }
  static LockLost lost_error(const Hold& hold);

  const std::shared_ptr<const Wire> wire_;  // shared with its holds
  const std::shared_ptr<LocalQueue> turn_;  // null: tasks do not queue locally
  std::atomic<std::size_t> waiting_ = 0;    // tasks inside acquire()
  std::atomic<bool> contended_ = false;     // the last release made way for somebody else
  mutable Mutex mutex_;
  std::atomic<std::size_t> mine_count_ = 0;  // of mine_, to be read without the mutex
  std::vector<Mine> mine_;  // the present holders, and tasks whose hold was lost before they unlocked
};

}  // namespace holdfast
