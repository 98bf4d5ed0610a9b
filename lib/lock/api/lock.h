// Lock: what every exclusive lock of this library looks like; meets TimedLockable, so that std::unique_lock,
// std::scoped_lock and std::lock work with it.
//
// - release() gives it back and throws when that went wrong: LockLost, Unavailable. unlock() gives it back
//   and keeps silent about it, as the standard demands: no guard of the standard ends the program because a
//   lock was lost or a server is gone. Who has to know whether the work was done alone calls release(), or
//   asks lost() and is_held_by_me() before, or has an observer (observer.h).
// - std::lock() draws no pause: two of them over the same locks in opposite orders may keep out of each
//   other's way for long, on fibers for ever. MultiLock (multi_lock.h) is made for that.
//
// Ownership is by task (a thread in an application, a fiber in a world). One object per key and process is
// meant to be shared by its tasks.
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

#include "lib/lock/api/any_duration.h"
#include "lib/lock/api/errors.h"
#include "lib/lock/api/observer.h"
#include "lib/lock/api/survivor.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

// What all locks of one kind and process have in common.
struct LockOptions {
  Duration lease = std::chrono::seconds(30);  // at least 10 ms, in whole milliseconds
  bool renew = true;  // watchdog: renew at a third of the lease until release. false: the lease is all
  std::optional<int> max_renewals = std::nullopt;  // of one hold; then its lease runs out, and it is lost
  bool fencing = false;                            // every grant comes with a fencing token
  // How long a key's last token is kept after its last grant, and for a lease at least. After that the
  // server's clock takes its place (locks.h).
  Duration token_lifetime = std::chrono::hours(24);
  // How many replicas must have acknowledged a grant before it counts (one WAIT for all that a client asks
  // for at once); a majority of the configured ones is best. Fewer did within `replica_timeout`: the grant is
  // taken back, and asked for again as if no server had answered. 0: grants are not waited for.
  int replicas = 0;
  Duration replica_timeout = std::chrono::milliseconds(500);  // how long a grant waits for its replicas
  // A grant survives failover, restart and split brain, where the kind of lock can (survivor.h). Then
  // `replicas` does not count.
  std::optional<SurvivorOptions> survivor = std::nullopt;
  LockObserver* observer = nullptr;  // outlives the lock
  std::size_t max_waiters = 65536;   // tasks of this process that may queue for one key; more: Unavailable
};

// The moment at which a wait that begins now is over. Throws std::invalid_argument for a wait below zero.
inline MonotonicTime end_of_wait(const Runtime& runtime, Duration wait) {
  if (wait < Duration::zero()) throw std::invalid_argument("a wait cannot be below zero");
  return deadline_after(runtime.now(), wait);
}

class Lock {
 public:
  virtual ~Lock() = default;

  // [parks] Waits without bound while somebody holds it. Throws LockError (Unavailable when no server
  // answered for the client's command timeout, ...).
  virtual void lock() = 0;
  // [parks] One round trip, two if refused; no waiting for a holder. False: somebody else holds it, or asks
  // for it in this process.
  [[nodiscard]] virtual bool try_lock() = 0;
  // [parks] False: not granted by the deadline (one that has passed: as try_lock). A stop request ends the
  // wait with Interrupted. Unavailable: until the deadline no server could be asked. Whatever does not return
  // true holds nothing, and has seen to it that a grant whose reply was lost is given back or expires. Who
  // stood in a queue on the server leaves it first, which may take 100 ms beyond the deadline or the request.
  [[nodiscard]] virtual bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) = 0;
  // [parks] As try_lock_until(). Throws std::invalid_argument for a wait below zero.
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait, std::stop_token stop = {}) {
    if (wait < wait.zero()) throw std::invalid_argument("a wait cannot be below zero");
    return try_lock_until(deadline_after(runtime().now(), to_duration(wait)), std::move(stop));
  }
  // A deadline on another clock: translated when the call begins, by what is left until then.
  template <class Clock, class Unit>
  requires(!std::same_as<Clock, MonotonicClock>)
      [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Unit>& deadline,
                                        std::stop_token stop = {}) {
    const Duration left = to_duration(deadline - Clock::now());
    return try_lock_until(deadline_after(runtime().now(), left), std::move(stop));
  }
  // [parks] lock() that a stop request ends with Interrupted.
  void lock_interruptibly(std::stop_token stop) {
    static_cast<void>(try_lock_until(kNever, std::move(stop)));  // granted, or it throws
  }
  // [parks] Gives it back. Throws NotOwner when the calling task does not hold it, LockLost when it no longer
  // held it on the server, Unavailable when no server confirmed it (it goes on in the background), Rejected.
  // After any exception but NotOwner this task no longer holds the lock.
  virtual void release() = 0;
  // [parks] As release(), but what goes wrong is told to the observer only (lost, release_failed). Throws
  // NotOwner alone: unlocking what the calling task does not hold is a mistake in the program. A task that
  // lost the lock holds it, in this sense, until it has unlocked it.
  void unlock();

  // [parks] try_lock() that waits for a server's answer until `deadline` at most and then throws Unavailable:
  // for callers that have one deadline for several locks. Designs without such a bound answer as try_lock().
  [[nodiscard]] virtual bool try_lock_by(MonotonicTime deadline) {
    static_cast<void>(deadline);
    return try_lock();
  }
  // [parks] release(), the same way: after Unavailable it goes on in the background.
  virtual void release_by(MonotonicTime deadline) {
    static_cast<void>(deadline);
    release();
  }

  // --- a hold with a lease of its own, that lasts longer, or goes elsewhere -------------------------------
  // [parks] As try_lock_until(), for a hold that lasts `lease` from its request on: nobody renews it, and at
  // its end it is lost. Re-entered, a hold keeps the lease that it has. Throws Unsupported where the design
  // has no such thing; std::invalid_argument as LockOptions::lease.
  [[nodiscard]] virtual bool try_lock_leased(Duration lease, MonotonicTime deadline,
                                             std::stop_token stop = {});
  // [parks] The calling task's hold lasts `lease` from now at least, on top of what the watchdog does: for a
  // step that takes longer than the lease of LockOptions, or a lock that is not renewed. Throws NotOwner,
  // LockLost; Unavailable (held as before, and it may last longer all the same), Rejected (held as before),
  // Unsupported where the design has no such thing; std::invalid_argument as LockOptions::lease.
  virtual void extend(Duration lease);
  // [parks] Gives the calling task's hold, however deep, out of its hands without a release (of permits: what
  // it took last): who shows the result to adopt(), in any process, has it. Until then nobody renews it, and
  // its lease runs from the last renewal on. Throws as release(), or Unsupported: `redlock`, `multi`.
  [[nodiscard]] virtual std::string detach();
  // [parks] Takes up what detach() of a lock of this key, kind and server gave out: the calling task holds it
  // for a lease from now at least, with the same fencing token. False: its lease had run out, or somebody has
  // it. Throws LockError; std::invalid_argument for what detach() never gave; WouldDeadlock where the calling
  // task holds the lock already (more permits it may have).
  [[nodiscard]] virtual bool adopt(const std::string& detached);

  // --- about the hold of the calling task; no round trip -----------------------------------------------
  [[nodiscard]] virtual bool is_held_by_me() const = 0;  // counted in and not known to be lost
  [[nodiscard]] virtual int hold_count() const = 0;      // depth of re-entry; 0: not held
  // Until when the lock service promised the hold, margin taken off; nullopt: not held, or a design without
  // the notion.
  [[nodiscard]] virtual std::optional<MonotonicTime> valid_until() const = 0;
  // Identity of the calling task's current acquisition, unique in space and time; "" when not held.
  [[nodiscard]] virtual std::string acquisition() const = 0;
  // Fires, on a task of its own, when the caller's hold is lost (not released). Default token when not held.
  [[nodiscard]] virtual std::stop_token lost() const = 0;

  // The fencing token of the calling task's hold: greater than that of every earlier hold of the key that
  // excludes it (locks.h says more).
  // nullopt: not held, or a lock that gives none (LockOptions::fencing).
  [[nodiscard]] virtual std::optional<std::uint64_t> token() const { return std::nullopt; }
  // How much longer the hold is promised; zero when it is over. nullopt: as valid_until().
  [[nodiscard]] std::optional<Duration> remaining_lease() const {
    const std::optional<MonotonicTime> until = valid_until();
    if (!until) return std::nullopt;
    return std::max(Duration::zero(), *until - runtime().now());
  }

  // [parks] Takes the lock away from whoever holds it, in any process; waiters are woken, the holder learns
  // of its loss at its next renewal or release. For operators. False: nobody held it. Throws Unsupported
  // where the design has no such thing.
  virtual bool force_unlock() {
    throw Unsupported("lock '" + key() + "': this kind of lock cannot be forced open", key(), "", false);
  }

  // Some task of this process holds it, or is inside an acquire.
  [[nodiscard]] virtual bool in_use() const { return is_held_by_me(); }

  virtual const std::string& key() const noexcept = 0;  // as given to obtain()
  virtual Runtime& runtime() const noexcept = 0;        // on which it waits
  // How its holds exclude each other: "" (exclusive), "read" or "write".
  virtual std::string_view mode() const noexcept { return ""; }
  // Names the record that it takes: of two locks of the same name neither is granted while the other is held,
  // unless both only read. "": unknown, or a lock of which several can be held (a semaphore).
  [[nodiscard]] virtual std::string record() const { return {}; }
  // How many permits one hold takes.
  virtual int permits() const noexcept { return 1; }
};

}  // namespace holdfast
