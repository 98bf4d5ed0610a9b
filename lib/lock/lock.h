// Lock: what every exclusive lock of this library looks like; meets TimedLockable.
//
// Ownership is by task (a thread in an application, a fiber in a world). One object per key and process is
// meant to be shared by its tasks.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "../runtime/runtime.h"
#include "errors.h"
#include "observer.h"

namespace holdfast {

struct LockOptions {
  Duration lease = std::chrono::seconds(30);
  bool renew = true;  // watchdog: renew at a third of the lease until release. false: the lease is all
  LockObserver* observer = nullptr;  // outlives the lock
  std::size_t max_waiters = 65536;   // tasks of this process that may queue for one key; more: Unavailable
};

class Lock {
 public:
  virtual ~Lock() = default;

  // [parks] Waits without bound while somebody holds it. Throws LockError (Unavailable when no server
  // answered for the client's command timeout, ...).
  virtual void lock() = 0;
  // [parks] One round trip, no waiting. False: somebody else holds it (or, in this process, is asking for
  // it).
  virtual bool try_lock() = 0;
  // [parks] False: not granted by the deadline (one that has passed: as try_lock). A stop request ends the
  // wait with Interrupted. Unavailable: until the deadline no server could be asked. Whatever does not return
  // true holds nothing, and has seen to it that a grant whose reply was lost is given back or expires.
  virtual bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) = 0;
  bool try_lock_for(Duration wait, std::stop_token stop = {}) {
    return try_lock_until(deadline_after(runtime().now(), wait), std::move(stop));
  }
  // [parks] Throws NotOwner when the calling task does not hold it, LockLost when it no longer held it on the
  // server. After any exception but NotOwner this task no longer holds the lock.
  virtual void unlock() = 0;

  // --- about the hold of the calling task; no round trip -----------------------------------------------
  virtual bool is_held_by_me() const = 0;  // counted in and not known to be lost
  virtual int hold_count() const = 0;      // depth of re-entry; 0: not held
  // Until when the lock service promised the hold, margin taken off; nullopt: not held, or a design without
  // the notion.
  virtual std::optional<MonotonicTime> valid_until() const = 0;
  // Identity of the calling task's current acquisition, unique in space and time; "" when not held.
  virtual std::string acquisition() const = 0;
  // Fires when the calling task's hold is lost (not when it is released). Default token when not held.
  virtual std::stop_token lost() const = 0;

  virtual const std::string& key() const noexcept = 0;
  virtual Runtime& runtime() const noexcept = 0;
};

}  // namespace holdfast
