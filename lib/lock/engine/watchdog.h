// Watchdog: keeps holds alive and tells when one is lost. One per client and kind of lock; one task (role
// "watchdog") for all its holds, which exists only while there is something to watch: after the last release
// it sleeps on until the moment for which it had been set (a third of a lease at most) and then ends.
//
// - Holds are renewed at a third of the lease, all that are due in one script call. A renewal belongs to one
//   acquisition: it names the owner, so it can neither extend a successor's record nor bring one back.
// - A renewal that fails is tried again within the lease. One whose confirmation comes after the old
//   valid_until does not revive the hold.
// - The loss is told at valid_until at the latest, at once when the server no longer knows the owner. A hold
//   that is granted during a renewal, and may end before the answer to it, gets a second task until then.
// - A hold that is not to be renewed is only watched for its end.
// - After LockOptions::max_renewals the lease is left to run out.
// - When the task that holds the lock has ended without releasing it, renewing stops.
// - Callbacks of lost() run on tasks of their own (Client::run_callback()), whoever noticed the loss: they
//   may take long, and may wait for the lock. So do observers that are not quick, of what the watchdog sees.
//   Where no task can be started, it is tried again until one can.
//
// Thread safety: any task. Complexity: O(log n) for n holds, for each that comes, goes or is renewed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/lock/api/lock.h"
#include "lib/lock/engine/hold.h"
#include "lib/lock/engine/late_release.h"
#include "lib/lock/engine/observer_queue.h"
#include "lib/lock/store/store.h"
#include "lib/runtime/background_task.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

class Watchdog {
 public:
  // `options` of all its holds. The others outlive the watchdog.
  Watchdog(Store& store, LateRelease& late_release, const LockOptions& options);
  // [parks] Ends the task. Holds that are still watched are left to their leases.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // False: no task could be started that watches it; then it is not watched. REQUIRES: valid_until is set.
  // Call it before the caller of lock() is told of the grant.
  [[nodiscard]] bool watch(std::shared_ptr<Hold> hold, MonotonicTime sent_at);

  // Call it before the release is sent. False: the hold is lost (and was told so, at the latest now).
  bool unwatch(Hold& hold);

  // Tells the loss if valid_until has passed unnoticed. False: lost.
  bool check(Hold& hold);

  // Fires when the hold is lost.
  std::stop_token lost_token(Hold& hold);

  // The server says that the hold is gone. Tells the observer here, and callbacks of lost() on a task of
  // their own. One of these may destroy the lock at once: the caller does not touch it afterwards. REQUIRES:
  // it is unwatched, and not lost.
  void lost_at_release(Hold& hold, std::string_view reason);

 private:
  using Holds = std::vector<std::shared_ptr<Hold>>;
  // By the moment at which something is to be done; those of one moment in the order in which they came.
  using Queue = std::map<std::pair<MonotonicTime, std::uint64_t>, std::shared_ptr<Hold>>;
  static constexpr std::size_t kBatch = 100;

  void run();
  void tell_during_renewal();  // the second task
  // Under the mutex: a task is there when a hold is to be looked at, and at its end. False: none could be
  // started.
  [[nodiscard]] bool wake_for(MonotonicTime first, MonotonicTime end);
  Holds take_expired(MonotonicTime now);     // under the mutex; unwatches them
  Holds due(MonotonicTime now) const;        // under the mutex
  MonotonicTime first_end();                 // under the mutex: of all holds; kNever: there is none
  MonotonicTime next_wake();                 // under the mutex
  std::shared_ptr<Hold> remove(Hold& hold);  // under the mutex
  // Under the mutex. Who asks about the hold hears from now on that it is lost, told or not.
  std::shared_ptr<Hold> remove_lost(Hold& hold);
  // Under the mutex, of a hold that is watched.
  void look_again_at_end(Hold& hold);
  void renew_next_at(Hold& hold, MonotonicTime when);
  void renew_no_more(Hold& hold);
  void renew(Holds holds);  // [parks]
  void renewal_failed(const Holds& holds, std::string_view node, std::string_view why);
  void fire(Hold& hold);
  static LockEvent loss(const Hold& hold, std::string_view reason);
  void tidy_after_loss(Hold& hold);
  void tell_lost(Hold& hold, std::string_view reason);          // by a task of the application
  void tell_lost_outside(Hold& hold, std::string_view reason);  // by the watchdog's own
  void tell_expired(const Holds& expired, MonotonicTime now);
  void tell_untold();

  Store& store_;
  Runtime& runtime_;
  LateRelease& late_release_;
  const LockOptions options_;
  const Duration lease_;

  Mutex mutex_;
  Condition changed_;
  Queue ends_;      // all holds, by looked_at_by
  Queue renewals_;  // those that are to be renewed, by next_renewal
  std::uint64_t numbers_ = 0;
  MonotonicTime asleep_until_ = MonotonicTime::min();  // min: awake
  MonotonicTime renews_until_ = MonotonicTime::min();  // min: no renewal is under way
  MonotonicTime stays_until_{};                        // though nothing is held: the next hold may come soon
  bool closing_ = false;
  ObserverQueue observer_;                // is told what the task sees
  std::vector<std::stop_source> untold_;  // losses for which no task could be started yet
  BackgroundTask task_, second_;
};

}  // namespace holdfast
