// The read-write lock: many readers, or one writer. The object itself is the write side (Lock); the read side
// has the names of std::shared_mutex (SharedTimedLockable), so that std::shared_lock<ReadWriteLock> works.
//
// - Each reader and the writer have leases of their own, renewed by the watchdog: a reader that died
//   holds up a writer for a lease at most, and nobody renews for another one.
// - Both sides are reentrant. The writer may also read. When it gives the write side back while it
//   still reads, and at downgrade(), it becomes a reader without a moment between. A reader that asks
//   for the write side would wait for itself: WouldDeadlock.
// - Not fair: readers come in as long as readers are in, so a writer may wait long. Fair
//   (ReadWriteOptions::fair): first come, first served, with readers that follow each other going in
//   together; promises of the fair lock (fair_lock.h) about dead and paused waiters hold.
// - The writer's record is the reentrant lock's. All times are the server's.
//
// Thread safety: any task. Ownership is by task, or by Owner (owner.h).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "locks.h"
#include "owner.h"
#include "wire_lock.h"

namespace holdfast {

// What all read-write locks of one process have in common.
struct ReadWriteOptions {
  LockOptions lock = {};  // of both sides
  bool fair = false;      // first come, first served
};

class ReadWriteLock final : public Lock {
 public:
  // See ReadWriteLocks::obtain().
  ReadWriteLock(std::shared_ptr<LockContext> context, const std::string& key, bool fair);

  // --- write side ---------------------------------------------------------------------------------------
  void lock() override;
  bool try_lock() override { return try_lock_by(kNever); }
  using Lock::try_lock_until;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  void unlock() override { unlock_by(kNever); }
  bool try_lock_by(MonotonicTime deadline) override;
  void unlock_by(MonotonicTime deadline) override;
  bool is_held_by_me() const override { return write_.is_held_by_me(); }
  int hold_count() const override { return write_.hold_count(); }
  std::optional<MonotonicTime> valid_until() const override { return write_.valid_until(); }
  std::string acquisition() const override { return write_.acquisition(); }
  std::stop_token lost() const override { return write_.lost(); }
  std::optional<std::uint64_t> token() const override { return write_.token(); }
  bool in_use() const override { return write_.in_use() || read_.in_use(); }
  bool force_unlock() override { return write_.force_unlock(); }  // readers, too
  const std::string& key() const noexcept override { return write_.key(); }
  Runtime& runtime() const noexcept override { return write_.runtime(); }
  std::string_view mode() const noexcept override { return write_.mode(); }

  // [parks] From writer to reader. Throws NotOwner when the calling task does not hold the write side exactly
  // once, LockLost when it no longer held it on the server, Unavailable. After LockLost and Unavailable it
  // holds neither.
  void downgrade();

  // --- read side: as the members of Lock without "shared" ------------------------------------------------
  void lock_shared();                                            // [parks] as Lock::lock()
  bool try_lock_shared() { return try_lock_shared_by(kNever); }  // [parks] as Lock::try_lock()
  // [parks] As Lock::try_lock_until().
  bool try_lock_shared_until(MonotonicTime deadline, std::stop_token stop = {});
  // [parks] A deadline on another clock.
  template <class Clock, class Unit>
  requires(!std::same_as<Clock, MonotonicClock>) bool try_lock_shared_until(
      const std::chrono::time_point<Clock, Unit>& deadline, std::stop_token stop = {}) {
    const Duration left = to_duration(deadline - Clock::now());
    return try_lock_shared_until(deadline_after(runtime().now(), left), std::move(stop));
  }
  // [parks] As Lock::try_lock_for().
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait, std::stop_token stop = {}) {
    if (wait < wait.zero()) throw std::invalid_argument("a wait cannot be below zero");
    return try_lock_shared_until(deadline_after(runtime().now(), to_duration(wait)), std::move(stop));
  }
  void unlock_shared() { unlock_shared_by(kNever); }  // [parks] as Lock::unlock()
  // The read side as a Lock of its own, for whatever takes a Lock.
  Lock& read() noexcept { return read_side_; }

 private:
  class ReadSide;
  void refuse_upgrade() const;
  bool try_lock_shared_by(MonotonicTime deadline);
  void unlock_shared_by(MonotonicTime deadline);
  bool reads_as_writer();  // the caller holds the write side: counted, nothing else to do
  void become_reader(int depth, MonotonicTime deadline = kNever);

  class ReadSide final : public Lock {
   public:
    explicit ReadSide(ReadWriteLock& whole) : whole_(whole) {}
    void lock() override { whole_.lock_shared(); }
    bool try_lock() override { return whole_.try_lock_shared(); }
    bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
      return whole_.try_lock_shared_until(deadline, std::move(stop));
    }
    void unlock() override { whole_.unlock_shared(); }
    bool try_lock_by(MonotonicTime deadline) override { return whole_.try_lock_shared_by(deadline); }
    void unlock_by(MonotonicTime deadline) override { whole_.unlock_shared_by(deadline); }
    bool is_held_by_me() const override { return side().is_held_by_me(); }
    int hold_count() const override;
    std::optional<MonotonicTime> valid_until() const override { return side().valid_until(); }
    std::string acquisition() const override { return side().acquisition(); }
    std::stop_token lost() const override { return side().lost(); }
    std::optional<std::uint64_t> token() const override { return side().token(); }
    bool in_use() const override { return whole_.in_use(); }
    bool force_unlock() override { return whole_.force_unlock(); }
    const std::string& key() const noexcept override { return whole_.key(); }
    Runtime& runtime() const noexcept override { return whole_.runtime(); }
    std::string_view mode() const noexcept override { return "read"; }

   private:
    const WireLock& side() const;  // which holds for the caller
    ReadWriteLock& whole_;
  };

  WireLock write_, read_;
  ReadSide read_side_;
  const std::shared_ptr<LockContext> context_;
  mutable Mutex mutex_;
  std::map<HolderId, int> reading_writers_;  // how deep the holder of the write side reads
};

// The read-write locks of one process on one Redis.
class ReadWriteLocks final : public Locks {
 public:
  // See Locks::Locks.
  ReadWriteLocks(redis::Client& client, ReadWriteOptions options)
      : Locks(client, std::move(options.lock)), fair_(options.fair) {}
  // See Locks::obtain.
  std::shared_ptr<ReadWriteLock> obtain(const std::string& key) {
    return std::static_pointer_cast<ReadWriteLock>(Locks::obtain(key));
  }

 private:
  std::shared_ptr<Lock> make(const std::string& key) override;
  const bool fair_;
};

}  // namespace holdfast
