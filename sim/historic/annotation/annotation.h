// The annotation lock (published design 2): a method annotation with key, expiry (60 s) and wait timeout (5
// s); an advice around the method locks, runs it, unlocks. As published; do not use it in an application.
// This is its lock; the advice is annotation_advice.h.
//
//   lock      a new UUID for this call; while (now < end), by the wall clock: SET lock:<key> <UUID> EX
//             <expiry in s> NX, and after a refusal 100 ms of sleep; then an exception "failed to get the
//             lock". So a timeout of 0 never tries, and nothing is tried after the last pause
//   unlock    in `finally`: GET lock:<key>; if it is the UUID: DEL lock:<key>; else "the lock has expired" is
//             logged (told to the observer as a loss)
//
// The flaws for which it is kept:
//   - GET, then DEL: between the two the lease can end, and the DEL removes the lock of somebody else;
//   - no renewal, and a loss that is only logged, afterwards;
//   - a SET whose reply was lost locks everybody out until the expiry;
//   - not reentrant, polling, the wait counted on a clock that steps: a step forward ends every wait, a step
//     back prolongs it;
//   - the expiry is in whole seconds.
//
// Deviations:
//   - try_lock() and try_lock_until(), which the annotation does not have, ask once, and poll until their own
//     deadline (monotonic); each is one call with one UUID.
//   - the UUID is a local variable of the advice there; here the lock keeps it for the task that holds.
//   - the expiry is a Duration, rounded up to whole seconds.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/historic/polling_lock.h"

namespace holdfast::historic {

struct AnnotationOptions {
  Duration expired_time = std::chrono::seconds(60);
  Duration timeout_for_lock = std::chrono::seconds(5);
  LockObserver* observer = nullptr;  // outlives the lock
};

class AnnotationLock : public PollingLock {
 public:
  AnnotationLock(redis::Client& client, const AnnotationOptions& options, std::string key);

  // [parks] Throws WaitTimeout after AnnotationOptions::timeout_for_lock; with 0 it never asks.
  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;

 protected:
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
  // The pause between two attempts of lock(). May throw Interrupted.
  virtual void sleep_between_attempts();

 private:
  void begin_call();  // draws its UUID

  const Duration timeout_for_lock_;
  Mutex mutex_;
  std::map<TaskId, std::string> uuids_;  // of the call that each task is in, or was in last
};

// "lock:", what stands before the key in Redis.
extern const std::string_view kAnnotationPrefix;

}  // namespace holdfast::historic
