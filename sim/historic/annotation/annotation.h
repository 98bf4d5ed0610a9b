// The annotation lock (published design 2): a method annotation with key, expiry (60 s) and wait timeout (5
// s); an advice around the method locks, runs it, unlocks. As published; do not use it in an application.
//
//   lock      SET lock:<key> <new UUID> EX <expiry in s> NX every 100 ms until the wait timeout, by the wall
//             clock; then an exception "failed to get the lock"
//   method    runs; its exceptions are logged and swallowed, its result is lost (not modelled: the method is
//             what the caller does between lock() and unlock())
//   unlock    in `finally`: GET lock:<key>; if it is the UUID: DEL lock:<key>; else "the lock has expired" is
//             logged (told to the observer as a loss)
//
// The flaws for which it is kept:
//   - GET, then DEL: between the two the lease can end, and the DEL removes the lock of somebody else;
//   - no renewal, and a loss that is only logged, afterwards;
//   - a SET whose reply was lost locks everybody out until the expiry;
//   - not reentrant, polling, the wait counted on a clock that steps: a step forward ends every wait, a step
//     back prolongs it;
//   - the expiry is in whole seconds (rounded up here).
// try_lock_until(), which the annotation does not have, polls until its own deadline.
#pragma once

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

  // [parks] Throws WaitTimeout after AnnotationOptions::timeout_for_lock.
  void lock() override;

 protected:
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
  // The pause between two attempts of lock(). May throw Interrupted.
  virtual void sleep_between_attempts();

 private:
  const Duration timeout_for_lock_;
};

// "lock:", what stands before the key in Redis.
extern const std::string_view kAnnotationPrefix;

}  // namespace holdfast::historic
