// Spring Integration's RedisLockRegistry, 5.x (published design 1). As published; do not use it in an
// application.
//
//   registry     a client id (UUID), a registryKey, expireAfter (60 s). obtain(lockKey) gives the one lock
//                object of that key; in Redis it is <registryKey>:<lockKey>, whose value is the client id
//   lock()       the object's local reentrant lock, which is unfair; then the obtain script (ours already:
//                PEXPIRE; absent: SET PX; else no) every 100 ms until it succeeds. Interrupts are ignored.
//                Any error gives the local lock back: "cannot acquire"
//   lockInterruptibly()  the same, but an interrupt gives the local lock back and is raised
//   tryLock(t)   the same until the deadline, by the wall clock, counted from before the wait for the local
//                lock. An interrupt of the local wait is raised; while it polls, it is an error as any other:
//                "cannot acquire"
//   tryLock()    tryLock(0); interrupted: sets the thread's flag again, and false
//   unlock()     not held by this thread: an error, "you do not own". Held more than once: one less. Else GET
//                the key; not our client id: an error, "released in the store due to expiration, the
//                integrity of protected data may have been compromised"; ours: UNLINK, and DEL from then on
//                once UNLINK has failed, for whatever reason. When the thread is interrupted, the removal
//                runs on another one, of an executor: a pool of its own that ends with the registry, or one
//                that was set. The local lock is given back in every case
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
//   - up to 100 ms of dead time after each release between processes, no order among them, and none among the
//     threads of a process; pauses of 100 ms are slept to their end, beyond the deadline. The publication
//     says that it is not for low latency;
//   - asynchronous replication: a failover before the replica has the record makes a second owner (the
//     publication's own caveat).
//
// Deviations:
//   - a task has no interrupt flag: the stop_token with which it locked stands for it, at unlock() and in
//     try_lock(), too; lock() ignores interrupts and leaves no flag behind;
//   - lockInterruptibly() is try_lock_until() with kNever; the wait for the local lock ends by the monotonic
//     clock;
//   - "cannot acquire" is Unavailable or Rejected, the illegal states are NotOwner and LockLost;
//   - the end of the registry waits for the removals of its own pool; an executor that was set must have
//     ended those of this registry before;
//   - conditions are unsupported there; here is no such call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/redis/script.h"
#include "sim/historic/polling_lock.h"
#include "sim/historic/spring/local_lock.h"

namespace holdfast::historic {

extern const redis::Script kSpringObtain;

class SpringRegistry;

class SpringLock final : public PollingLock, public std::enable_shared_from_this<SpringLock> {
 public:
  SpringLock(SpringRegistry& registry, const std::string& key);  // SpringRegistry::obtain() makes them

  // [parks] Throws LockError ("cannot acquire") on any error but a refusal.
  void lock() override;
  bool try_lock() override;
  // Throws Interrupted when it is stopped in the local wait or the deadline is kNever, else LockError
  // ("cannot acquire").
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // [parks] Throws NotOwner, or LockLost when the key was not this registry's any more.
  void release() override;

 private:
  friend class SpringRegistry;
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string& acquisition) override;
  // [parks] Once the local lock is ours: asks while `more()`. Throws LockError ("cannot acquire") and, when
  // it is interrupted, Interrupted.
  template <class More>
  bool obtain(More more, const std::stop_token& stop);
  // Throws `error` with the meaning "cannot acquire".
  [[noreturn]] void cannot_acquire(const LockError& error) const;
  void remove_lock_key();              // [parks] may throw redis::Error
  bool is_acquired_in_this_process();  // [parks] may throw redis::Error

  SpringRegistry& registry_;
  LocalLock local_;
  std::stop_token interrupt_;                // of the holder
  std::atomic<WallTime::rep> locked_at_{0};  // wall time of the last success
};

struct SpringRegistryOptions {
  Duration expire_after = std::chrono::seconds(60);
  LockObserver* observer = nullptr;  // outlives the registry
};

class SpringRegistry {
 public:
  // Runs what it is given, some time, on another task.
  using Executor = std::function<void(std::function<void()> removal)>;

  // `client` outlives the registry, the registry its locks.
  SpringRegistry(redis::Client& client, std::string registry_key, SpringRegistryOptions options = {});
  ~SpringRegistry();  // [parks] lets removals on other tasks end
  SpringRegistry(const SpringRegistry&) = delete;
  SpringRegistry& operator=(const SpringRegistry&) = delete;

  // Throws std::invalid_argument for an expireAfter below 1 ms.
  std::shared_ptr<SpringLock> obtain(const std::string& key);
  // [parks] Asks Redis for each. How many were dropped. Throws LockError.
  std::size_t expire_unused_older_than(Duration age);

  // Instead of tasks of its own, which end with it. Not while locks are in use.
  void set_executor(Executor executor) { executor_ = std::move(executor); }

  const std::string& client_id() const { return client_id_; }

 private:
  friend class SpringLock;
  std::string next_acquisition();
  void execute(std::function<void()> removal);  // by the executor

  redis::Client& client_;
  const std::string registry_key_;
  const SpringRegistryOptions options_;
  const std::string client_id_;
  std::atomic<bool> unlink_available_{true};
  std::atomic<std::uint64_t> next_acquisition_{1};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<SpringLock>> locks_;
  Executor executor_;       // that was set; null: none
  std::vector<Task> pool_;  // its own
};

}  // namespace holdfast::historic
