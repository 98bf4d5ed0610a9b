// LockContext: what the locks of one kind share in a process: the client, the options, the owners' names, the
// channel that wakes waiting tasks, the watchdog and the late release.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/lock/engine/late_release.h"
#include "lib/lock/engine/watchdog.h"
#include "lib/lock/engine/wire.h"
#include "lib/lock/store/store.h"
#include "lib/lock/waiting/wake_channel.h"
#include "lib/runtime/process_identity.h"

namespace holdfast {

struct LockContext {
  // The observer in the options, and what the store stands on, outlive this object. Throws
  // std::invalid_argument when the options make no sense (checked_options.h).
  LockContext(std::unique_ptr<Store> store_in, LockOptions options_in);

  // "<uuid of this object>:<number>": never used twice.
  std::string next_owner();
  // Throws Forked when this process is a fork of the one in which this object was made.
  void check_process(const std::string& key) const;
  bool forked() const { return forks_so_far() != made_at_fork; }
  void tell(const LockEvent& event) const {
    if (options.observer != nullptr) options.observer->on_event(event);
  }

  // [parks] Calls `acquire`, and tells the observer when it ends without a grant: with what is false, or a
  // LockError, which is passed on. `asked_at`: when the caller asked.
  template <class Acquire>
  auto tell_of_failure(const Wire& wire, MonotonicTime asked_at, int permits, Acquire acquire) {
    LockEvent event{.kind = LockEvent::Kind::refused,
                    .key = wire.key,
                    .mode = wire.mode,
                    .permits = permits,
                    .since = asked_at};
    try {
      auto granted = acquire();
      if (!granted) tell(event);
      return granted;
    } catch (const LockError& error) {
      event.kind = LockEvent::Kind::acquire_failed;
      event.node = error.node();
      event.reason = error.what();
      tell(event);
      throw;
    }
  }

  // [parks] Runs a script that may be repeated without harm, again and again until it is answered or the
  // client's command timeout is over, or `until` has come. Then, or when the server refuses, throws
  // Unavailable or Rejected. `unseen`: an earlier try may have been executed. `way`: Store::call() or
  // Store::renew().
  enum class Way { call, renew };
  redis::Answer insist(const std::string& key, const redis::Script& script,
                       const std::vector<std::string>& script_keys, redis::Arguments args, bool& unseen,
                       Way way = Way::call, MonotonicTime until = kNever);

  const std::unique_ptr<Store> store_owner;
  Store& store;
  Runtime& runtime;
  const LockOptions options;
  const std::string lease_ms;
  const std::uint64_t made_at_fork = forks_so_far();
  const std::string uuid;
  std::atomic<std::uint64_t> next_number{1};
  LateRelease late_release;
  WakeChannel wake_channel;  // after late_release, which it uses
  Watchdog watchdog;         // after late_release, which it uses until its end
};

}  // namespace holdfast
