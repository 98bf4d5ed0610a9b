// Spring Integration's RedisLockRegistry at its commit f369e899 (7.2 under way): what became of
// spring_registry.h. As published; do not use it in an application. What is as there is not told again.
//
//   unlock()     one script: the key has our client id: UNLINK, and with pub_sub a PUBLISH; else an error,
//                "released in the store due to expiration". It runs on another thread, which is waited for
//                whatever interrupts; the local lock is given back in every case
//   renewal      with a scheduler: each successful acquire, a re-entry, too, starts a task that renews every
//                third of expireAfter, the first time at once. A renewal that finds no key of ours ends the
//                task that the lock object knows, and so does an unlock() that succeeded: the last one that
//                was started
//   pub_sub      who is refused listens (to all locks of the registry), asks again, sleeps until a message
//                about the lock comes, and asks again. It sleeps for as long as it was told to wait, or
//                expireAfter
//   tryLock(t)   t for the local lock, and t again for Redis
//   eviction     an object that the registry has dropped refuses to lock, unless there is a new one of its
//                key; those held locally are not dropped
//
// The flaws for which it is kept:
//   - each re-entry's renewal takes the place of the one before in the lock object, and that one is ended by
//     nobody: it renews whoever of this registry has the lock next, until the registry ends, and one that
//     fails ends the renewal of somebody else's hold in the same process;
//   - a waiter sleeps through the end of a lease: a holder that died publishes nothing, and whoever waits for
//     half a minute learns after half a minute that the lock was free;
//   - whoever waits for t may wait for twice as long;
//   - local locks, the owner that is the registry, polling and failover are those of spring_registry.h.
//
// Deviations: those of spring_registry.h for interrupts and errors. The removal runs on the task that
// unlocks; a pattern of channels is a channel for each lock, once somebody has waited for it; SET and DEL
// with IFEQ, of Redis 8.4, are their scripts. Explicit lease times and a capacity of the registry are left
// out.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/lock/waiting/wakeup.h"
#include "lib/redis/script.h"
#include "sim/historic/polling_lock.h"
#include "sim/historic/spring/local_lock.h"

namespace holdfast::historic {

extern const redis::Script kSpring7Renew;          // KEYS[key]  ARGV[client id, lease in ms]
extern const redis::Script kSpring7Unlock;         // KEYS[key]  ARGV[client id]
extern const redis::Script kSpring7UnlockPublish;  // KEYS[key]  ARGV[client id, channel]

class SpringRegistry7;

class SpringLock7 final : public PollingLock {
 public:
  SpringLock7(SpringRegistry7& registry, const std::string& key);  // SpringRegistry7::obtain() makes them

  // [parks] Throws LockError ("cannot acquire") on any error but a refusal.
  void lock() override;
  bool try_lock() override { return try_lock_until(runtime().now(), {}); }
  // Throws Interrupted when it is stopped in the local wait or the deadline is kNever, else LockError
  // ("cannot acquire").
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override;
  // [parks] Throws NotOwner, or LockLost when the key was not this registry's any more.
  void release() override;

 private:
  friend class SpringRegistry7;
  // One scheduled task: it renews until it is ended.
  struct Renewal {
    std::stop_source stop = {};
    Task task = {};
  };
  std::optional<Granted> attempt() override;
  std::optional<redis::Answer> remove(const std::string&) override { return std::nullopt; }
  // [parks] Once the local lock is ours. `wait`: Duration::max() without an end. Throws LockError.
  bool obtain(Duration wait, const std::stop_token& stop);
  bool spin(Duration wait, const std::stop_token& stop);
  bool subscribe_and_wait(Duration wait, const std::stop_token& stop);
  void listen(const std::stop_token& stop);  // [parks] until the subscription is in force, or for two seconds
  [[noreturn]] void cannot_acquire(const LockError& error) const;
  void schedule_renewal();
  bool renew(const std::string& acquisition);  // [parks]
  void stop_renewal();                         // the one that this object knows

  SpringRegistry7& registry_;
  LocalLock local_;
  std::atomic<WallTime::rep> locked_at_;
  Mutex mutex_;                 // of what follows
  Wakeup* notified_ = nullptr;  // who sleeps until a message comes
  bool listens_ = false;
  std::shared_ptr<Renewal> renewal_;  // started last
  std::list<std::shared_ptr<Renewal>> renewals_;
  std::unique_ptr<redis::Subscription> subscription_;  // goes first
};

struct SpringRegistry7Options {
  Duration expire_after = std::chrono::seconds(60);
  bool renews = true;                // there is a scheduler for it
  bool pub_sub = false;              // RedisLockType
  LockObserver* observer = nullptr;  // outlives the registry
};

class SpringRegistry7 {
 public:
  // `client` outlives the registry, the registry its locks.
  SpringRegistry7(redis::Client& client, std::string registry_key, SpringRegistry7Options options = {});
  ~SpringRegistry7();  // [parks] ends all renewals
  SpringRegistry7(const SpringRegistry7&) = delete;
  SpringRegistry7& operator=(const SpringRegistry7&) = delete;

  // Throws std::invalid_argument for an expireAfter below 1 ms.
  std::shared_ptr<SpringLock7> obtain(const std::string& key);
  // How many were dropped.
  std::size_t expire_unused_older_than(Duration age);
  const std::string& client_id() const { return client_id_; }

 private:
  friend class SpringLock7;
  std::string next_acquisition();
  bool knows(const std::string& key);

  redis::Client& client_;
  const std::string registry_key_;
  const SpringRegistry7Options options_;
  const std::string client_id_;
  std::atomic<std::uint64_t> next_acquisition_{1};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<SpringLock7>> locks_;
  std::vector<std::shared_ptr<SpringLock7>> dropped_;  // renewals of theirs may run on
};

}  // namespace holdfast::historic
