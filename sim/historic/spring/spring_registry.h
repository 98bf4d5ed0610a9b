// Spring Integration's RedisLockRegistry, 5.x (published design 1). As published; do not use it in an
// application.
//
//   registry     a client id (UUID), a registryKey, expireAfter (60 s). obtain(lockKey) gives the one lock
//                object of that key; in Redis it is <registryKey>:<lockKey>, whose value is the client id
//   lock()       the object's local reentrant lock; then the obtain script (ours already: PEXPIRE; absent:
//                SET PX; else no) every 100 ms until it succeeds. An error gives the local lock back
//   tryLock(t)   the same until the deadline, by the wall clock, counted from before the wait for the local
//   lock unlock()     not held by this thread: an error. Held more than once: one less. Else GET the key; not
//                our client id: an error, "released in the store due to expiration, the integrity of
//                protected data may have been compromised"; ours: UNLINK, and DEL from then on once UNLINK
//                has failed. When the thread is interrupted, the removal runs on another one. The local lock
//                is given back in every case
//   expire_unused_older_than(age)  drops objects that were locked last longer ago than age and are not held
//                in the store by this registry
//
// The flaws for which it is kept:
//   - GET and UNLINK are two commands: the expiry can come between, and the UNLINK removes the lock of
//     somebody else;
//   - the owner is the registry: after an interrupted unlock the next thread of the process is granted the
//     record that is about to be removed, and works without a lock;
//   - a lock object that was never locked counts as older than any age: it is dropped while a thread is about
//     to lock it, and the next obtain() makes a second object: two threads of one process pass, since Redis
//     knows only the registry;
//   - no renewal: work longer than expireAfter goes on beside the next owner, and learns of it at unlock();
//   - up to 100 ms of dead time after each release between processes, no order among them; pauses of 100 ms
//     are slept to their end, beyond the deadline;
//   - asynchronous replication: a failover before the replica has the record makes a second owner (the
//     publication's own caveat).
//
// The thread's interrupt flag is the stop_token with which it locked (lockInterruptibly() is try_lock_until()
// with kNever; lock() and try_lock() ignore interrupts): requested by the time of unlock(), it counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/lock/waiting/local_queue.h"
#include "lib/redis/script.h"
#include "sim/historic/polling_lock.h"

namespace holdfast::historic {

extern const redis::Script kSpringObtain;

class SpringRegistry;

class SpringLock final : public PollingLock, public std::enable_shared_from_this<SpringLock> {
 public:
  SpringLock(SpringRegistry& registry, const std::string& key);  // SpringRegistry::obtain() makes them

  // [parks] Throws LockError ("cannot acquire") on any error but a refusal.
  void lock() override;
  bool try_lock() override;
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // [parks] Throws NotOwner, or LockLost when the key was not this registry's any more.
  void unlock() override;

 private:
  friend class SpringRegistry;
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
  // [parks] Once the local lock is ours: asks while `more()`.
  template <class More>
  bool obtain(More more, const std::stop_token& stop);
  void remove_lock_key();              // [parks] may throw redis::Error
  bool is_acquired_in_this_process();  // [parks] may throw redis::Error

  SpringRegistry& registry_;
  LocalQueue local_;
  std::stop_token interrupt_;                // of the holder
  std::atomic<WallTime::rep> locked_at_{0};  // wall time of the last success
};

struct SpringRegistryOptions {
  Duration expire_after = std::chrono::seconds(60);
  LockObserver* observer = nullptr;  // outlives the registry
};

class SpringRegistry {
 public:
  // `client` outlives the registry, the registry its locks.
  SpringRegistry(redis::Client& client, std::string registry_key, SpringRegistryOptions options = {});
  ~SpringRegistry();  // [parks] lets removals on other tasks end
  SpringRegistry(const SpringRegistry&) = delete;
  SpringRegistry& operator=(const SpringRegistry&) = delete;

  // Throws std::invalid_argument for an expireAfter below 1 ms.
  std::shared_ptr<SpringLock> obtain(const std::string& key);
  // [parks] Asks Redis for each. Throws LockError.
  void expire_unused_older_than(Duration age);

  const std::string& client_id() const { return client_id_; }

 private:
  friend class SpringLock;
  std::string next_acquisition();
  void execute(std::function<void()> removal);  // on another task

  redis::Client& client_;
  const std::string registry_key_;
  const SpringRegistryOptions options_;
  const std::string client_id_;
  std::atomic<bool> unlink_available_{true};
  std::atomic<std::uint64_t> next_acquisition_{1};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<SpringLock>> locks_;
  std::vector<Task> executor_;
};

}  // namespace holdfast::historic
