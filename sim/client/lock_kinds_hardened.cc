// The locks of lib/lock. One more: a row, a space that makes it, and a description of its scripts
// (record_scripts.cc).
#include <memory>
#include <string>
#include <utility>

#include "lib/lock/api/registry.h"
#include "lib/lock/fair/fair_lock.h"
#include "lib/lock/latch/count_down_latch.h"
#include "lib/lock/read_write/read_write_lock.h"
#include "lib/lock/redisson/redisson_lock.h"
#include "lib/lock/redlock/redlock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/semaphore.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/client/record_scripts.h"

namespace holdfast::sim {
namespace {

// Locks of a class of lib/lock that derives from Locks, kept by a Registry.
class RegisteredSpace : public LockSpace {
 public:
  explicit RegisteredSpace(std::unique_ptr<Locks> locks)
      : locks_(std::move(locks)), registry_(*locks_, RegistryOptions{}) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override { return registry_.obtain(key); }
  std::size_t expire_unused_older_than(Duration age) override {
    return registry_.expire_unused_older_than(age);
  }

 private:
  const std::unique_ptr<Locks> locks_;
  Registry registry_;
};

template <class Kind>
std::unique_ptr<LockSpace> make_space(const LockSpaceOptions& options) {
  return std::make_unique<RegisteredSpace>(std::make_unique<Kind>(options.client, options.lock));
}

// Both sides of a read-write lock. Who has the read side has the whole.
class ReadWriteSpace final : public RegisteredSpace {
 public:
  using RegisteredSpace::RegisteredSpace;
  std::shared_ptr<Lock> obtain_shared(const std::string& key) override {
    const std::shared_ptr<Lock> whole = obtain(key);
    return {whole, &static_cast<ReadWriteLock&>(*whole).read()};
  }
};

std::unique_ptr<LockSpace> make_read_write(const LockSpaceOptions& options) {
  return std::make_unique<ReadWriteSpace>(std::make_unique<ReadWriteLocks>(
      options.client, ReadWriteOptions{.lock = options.lock, .fair = options.fair}));
}

std::unique_ptr<LockSpace> make_semaphore(const LockSpaceOptions& options) {
  return std::make_unique<RegisteredSpace>(std::make_unique<Semaphores>(
      options.client, SemaphoreOptions{.lock = options.lock, .permits = options.permits}));
}

std::unique_ptr<LockSpace> make_redlock(const LockSpaceOptions& options) {
  return std::make_unique<RegisteredSpace>(
      std::make_unique<Redlocks>(options.nodes, RedlockOptions{.lock = options.lock}));
}

template <class Kind>
std::unique_ptr<LockSpace> make_survivor(const LockSpaceOptions& options) {
  return std::make_unique<RegisteredSpace>(std::make_unique<Kind>(options.client, survivor_options(options)));
}

std::unique_ptr<LockSpace> make_survivor_read_write(const LockSpaceOptions& options) {
  return std::make_unique<ReadWriteSpace>(std::make_unique<ReadWriteLocks>(
      options.client, ReadWriteOptions{.lock = survivor_options(options), .fair = options.fair}));
}

// Latches that look again once a lease, in case a message is lost.
class HardenedLatch final : public Latch {
 public:
  HardenedLatch(const LockSpaceOptions& options, const std::string& key)
      : latch_(options.client, key, {.look_again = options.lock.lease}) {}
  const std::string& key() const override { return latch_.key(); }
  bool set(std::int64_t count) override { return latch_.set(count); }
  bool count_down() override { return latch_.count_down().has_value(); }
  bool await(const std::optional<Duration>& wait) override {
    if (wait) return latch_.await_for(*wait);
    latch_.await();
    return true;
  }

 private:
  CountDownLatch latch_;
};

class HardenedLatches final : public LatchSpace {
 public:
  explicit HardenedLatches(const LockSpaceOptions& options) : options_(options) {}
  std::shared_ptr<Latch> obtain(const std::string& key) override {
    return std::make_shared<HardenedLatch>(options_, key);
  }

 private:
  const LockSpaceOptions options_;
};

std::unique_ptr<LatchSpace> make_hardened_latches(const LockSpaceOptions& options) {
  return std::make_unique<HardenedLatches>(options);
}

}  // namespace

LockOptions survivor_options(const LockSpaceOptions& options) {
  LockOptions lock = options.lock;
  SurvivorOptions& survivor = lock.survivor.emplace();
  survivor.members = options.members;
  for (const redis::Node& node : options.client.options().nodes) {
    if (options.members.empty()) survivor.members.push_back(node.endpoint.to_string());
  }
  survivor.longest_lease = lock.lease;
  if (options.by_lag) survivor.acknowledged = SurvivorOptions::Acknowledged::by_lag;
  survivor.skew = survivor_skew(lock.lease);
  return lock;
}

Duration survivor_skew(Duration lease) { return std::chrono::floor<std::chrono::milliseconds>(lease / 10); }

std::vector<LockKind> hardened_lock_kinds() {
  return {
      {.name = "reentrant",
       .about = "exclusive and reentrant; one SET to acquire; watchdog, pub/sub wake-up, told loss",
       .reentrant = true,
       .promises_validity = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_space<ReentrantLocks>,
       .read_effects = reentrant_effects},
      {.name = "redisson",
       .about = "as reentrant, in Redisson's layout, to share locks with Java processes",
       .reentrant = true,
       .promises_validity = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_space<RedissonLocks>,
       .read_effects = redisson_effects},
      {.name = "non-reentrant",
       .about = "as reentrant, but a second acquire by the holder is refused",
       .promises_validity = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_space<NonReentrantLocks>,
       .read_effects = reentrant_effects},
      {.name = "fair",
       .about = "first come, first served; dead waiters are skipped",
       .reentrant = true,
       .promises_validity = true,
       .fair = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_space<FairLocks>,
       .read_effects = reentrant_effects},
      {.name = "spin",
       .about = "as reentrant, but waiters ask again after 1 .. 128 ms instead of subscribing",
       .reentrant = true,
       .promises_validity = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_space<SpinLocks>,
       .read_effects = reentrant_effects},
      {.name = "fenced",
       .about = "as reentrant, and every grant has a fencing token",
       .reentrant = true,
       .promises_validity = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_space<FencedLocks>,
       .read_effects = reentrant_effects},
      {.name = "survivor",
       .about = "as reentrant, and no failover, restart or split brain grants it twice: acknowledged by a "
                "majority, quarantine",
       .reentrant = true,
       .promises_validity = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .survives_failover = true,
       .make = make_survivor<ReentrantLocks>,
       .read_effects = survivor_effects},
      {.name = "survivor-fair",
       .about = "as survivor, first come, first served",
       .reentrant = true,
       .promises_validity = true,
       .fair = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .survives_failover = true,
       .make = make_survivor<FairLocks>,
       .read_effects = survivor_effects},
      {.name = "survivor-read-write",
       .about = "as survivor, for many readers or one writer",
       .reentrant = true,
       .promises_validity = true,
       .shared = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .survives_failover = true,
       .make = make_survivor_read_write,
       .read_effects = survivor_effects},
      {.name = "read-write",
       .about = "many readers or one writer; downgrade; fair as an option",
       .reentrant = true,
       .promises_validity = true,
       .shared = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_read_write,
       .read_effects = read_write_effects},
      {.name = "semaphore",
       .about = "so many permits, each with a lease that the watchdog renews",
       .promises_validity = true,
       .counts_permits = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_semaphore,
       .read_effects = semaphore_effects},
      {.name = "count-down-latch",
       .about = "waits until a count that others count down is zero (workload count-down)",
       .latch = true,
       .make_latches = make_hardened_latches},
      {.name = "redlock",
       .about =
           "a majority of independent servers; validity, drift, minority given back, renewal by majority",
       .reentrant = true,
       .promises_validity = true,
       .quorum = true,
       .tokens = true,
       .registry = true,
       .names_acquisitions = true,
       .make = make_redlock,
       .read_effects = reentrant_effects},
  };
}

}  // namespace holdfast::sim
