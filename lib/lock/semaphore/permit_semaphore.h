// The permit semaphore: permits with ids that expire, not bound to the task that took them. Whoever knows the
// id can give the permit back or extend it, from any process.
//
// A permit lasts for the lease and is not renewed by itself; extend() renews it by another lease. Same
// records on the server as the semaphore (semaphore_scripts.h), so both kinds can share a key.
//
// Thread safety: any task.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "lib/lock/semaphore/semaphore.h"

namespace holdfast {

struct LockContext;
struct Wire;

// What was granted: so many permits under one id.
struct Permit {
  std::string id;                      // unique in space and time
  int permits = 1;                     // how many
  MonotonicTime valid_until{};         // on this process' monotonic clock, margin taken off (lease.h)
  std::optional<std::uint64_t> token;  // LockOptions::fencing
  std::string node;                    // who granted
};

class PermitSemaphore {
 public:
  // `client`, and the observer in the options, outlive this object. LockOptions::renew is ignored. Throws
  // std::invalid_argument as Semaphores, or for an empty key.
  PermitSemaphore(redis::Client& client, std::string key, SemaphoreOptions options);
  ~PermitSemaphore();

  // [parks] Waits without bound. Throws as Semaphore::acquire().
  [[nodiscard]] Permit acquire(int permits = 1);
  // [parks] One round trip. nullopt: not so many are free.
  [[nodiscard]] std::optional<Permit> try_acquire(int permits = 1);
  // [parks] nullopt: not granted by the deadline. Interrupted, Unavailable: as Lock::try_lock_until().
  [[nodiscard]] std::optional<Permit> try_acquire_until(MonotonicTime deadline, int permits = 1,
                                                        std::stop_token stop = {});
  // [parks] As try_acquire_until(). Throws std::invalid_argument for a wait below zero.
  [[nodiscard]] std::optional<Permit> try_acquire_for(Duration wait, int permits = 1,
                                                      std::stop_token stop = {});

  // [parks] False: it was given back before, or had expired.
  bool release(const std::string& id);
  // [parks] A lease from now. nullopt: it had expired; it is not brought back.
  std::optional<MonotonicTime> extend(const std::string& id);

  [[nodiscard]] int free_permits();  // [parks] see Semaphore
  void set_permits(int permits);     // [parks] see Semaphore

  const std::string& key() const noexcept;  // as given
  Runtime& runtime() const noexcept;        // that of the client

 private:
  const std::shared_ptr<LockContext> context_;
  const std::shared_ptr<const Wire> wire_;
};

}  // namespace holdfast
