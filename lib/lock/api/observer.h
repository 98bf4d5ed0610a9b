// What a lock tells of its inside: the seam for metrics, logs and the harness' recorder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/runtime/time.h"

namespace holdfast {

// Something that happened to one lock of this process.
struct LockEvent {
  // What happened.
  enum class Kind {
    acquired,        // the outermost grant, before acquire() returns to its caller
    renewing,        // a renewal is about to be sent
    renewed,         // the server confirmed a renewal; valid_until is the new one
    extended,        // extend(), or a downgrade, was confirmed; valid_until is the new one
    renew_failed,    // no confirmation this time; it is tried again within the lease
    lost,            // the hold is known to be over without a release; a quick observer hears it first
    released,        // the outermost release was confirmed
    release_failed,  // it was not, which does not mean that the lock was lost; it goes on in the background
    waiting,         // an acquire was refused and the task starts to wait
    queued,          // the server confirmed the task's place in the queue of a fair lock
    refused,  // an acquire returned without a grant: somebody else had it until the end of its patience
    acquire_failed,  // an acquire threw: no server answered, or it was stopped; what was granted is given back
  };
  Kind kind{};                        // what happened
  std::string_view key = {};          // to which lock
  std::string_view acquisition = {};  // identity of the outermost acquisition (the owner id on the server)
  std::string_view node = {};         // who granted or answered; "" if nobody
  std::optional<MonotonicTime> valid_until = std::nullopt;  // on this process' clock
  std::optional<MonotonicTime> sent_at = std::nullopt;      // acquired, renewed: when its request was sent
  std::string_view reason = {};  // renew_failed, lost, release_failed, acquire_failed: why
  std::string_view mode = {};    // Lock::mode()
  int permits = 1;               // Lock::permits()
  std::optional<std::uint64_t> token = std::nullopt;  // acquired: its fencing token
  // acquired, refused, acquire_failed: when the caller asked for it. renewing, renewed, renew_failed: when
  // the renewal was due. released, release_failed, lost: when it was acquired. nullopt: not known, as of
  // permits by their id, and of what was adopted or downgraded rather than asked for.
  std::optional<MonotonicTime> since = std::nullopt;
};

// What happens inside a call of the application is told by that call's own task; what happens in the
// background (renewals, and losses that the watchdog finds), in order, by a task that may wait for it. Must
// not throw or call the lock; the views end with the call.
class LockObserver {
 public:
  virtual ~LockObserver() = default;
  // True: on_event() never parks, takes its time or blocks. Then the task that renews the leases tells it
  // itself, at the moment at which it happens.
  virtual bool is_quick() const noexcept { return false; }
  // May be called by several tasks at once.
  virtual void on_event(const LockEvent& event) noexcept = 0;
};

}  // namespace holdfast
