// Locks of lib/lock that are no Lock of one key by themselves: the multi lock over two keys, and the permit
// semaphore, whose permits belong to nobody. Adapters make a Lock of each, so that a workload can drive it.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/lock/multi/multi_lock.h"
#include "lib/lock/reentrant/reentrant_lock.h"
#include "lib/lock/semaphore/permit_semaphore.h"
#include "sim/client/lock_kind_rows.h"
#include "sim/client/pair_observer.h"
#include "sim/client/record_scripts.h"

namespace holdfast::sim {
namespace {

// Two locks as one, under the name of the key that it stands for.
class NamedMulti final : public Lock {
 public:
  NamedMulti(redis::Client& client, const LockOptions& options, std::string key, const JoinLocks& join)
      : key_(std::move(key)),
        observer_(options.observer, key_, client.runtime()),
        members_(client, observed(options, &observer_)),
        multi_(join({members_.obtain(key_ + ":a"), members_.obtain(key_ + ":b")})) {}

  void lock() override { multi_->lock(); }
  bool try_lock() override { return multi_->try_lock(); }
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
    return multi_->try_lock_until(deadline, std::move(stop));
  }
  void release() override { multi_->release(); }
  bool is_held_by_me() const override { return multi_->is_held_by_me(); }
  int hold_count() const override { return multi_->hold_count(); }
  std::optional<MonotonicTime> valid_until() const override { return multi_->valid_until(); }
  std::string acquisition() const override { return multi_->acquisition(); }
  std::stop_token lost() const override { return multi_->lost(); }
  const std::string& key() const noexcept override { return key_; }
  Runtime& runtime() const noexcept override { return multi_->runtime(); }

 private:
  static LockOptions observed(LockOptions options, LockObserver* observer) {
    options.observer = observer;
    return options;
  }
  const std::string key_;
  PairObserver observer_;
  ReentrantLocks members_;
  const std::shared_ptr<Lock> multi_;
};

// Permits as a Lock: the task that acquired one remembers its id, and extends nothing.
class PermitLock final : public Lock {
 public:
  PermitLock(redis::Client& client, const LockOptions& options, int permits, const std::string& key)
      : semaphore_(client, key, {.lock = options, .permits = permits}), mutex_(client.runtime()) {}

  void lock() override { remember(semaphore_.acquire()); }
  bool try_lock() override { return remember(semaphore_.try_acquire()); }
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
    return remember(semaphore_.try_acquire_until(deadline, 1, std::move(stop)));
  }
  void release() override {
    const std::optional<Permit> permit = mine();
    if (!permit) throw NotOwner("permit of '" + key() + "': the calling task has none", key(), "", false);
    {
      const std::scoped_lock guard(mutex_);
      permits_.erase(runtime().task_id());
    }
    if (!semaphore_.release(permit->id)) {
      throw LockLost("permit of '" + key() + "': it had expired before its release", key(), permit->node,
                     false);
    }
  }

  bool is_held_by_me() const override {
    const std::optional<Permit> permit = mine();
    return permit && runtime().now() < permit->valid_until;
  }
  int hold_count() const override { return mine() ? 1 : 0; }
  std::optional<MonotonicTime> valid_until() const override {
    const std::optional<Permit> permit = mine();
    return permit ? std::optional(permit->valid_until) : std::nullopt;
  }
  std::string acquisition() const override {
    const std::optional<Permit> permit = mine();
    return permit ? permit->id : std::string();
  }
  std::stop_token lost() const override { return {}; }
  std::optional<std::uint64_t> token() const override {
    const std::optional<Permit> permit = mine();
    return permit ? permit->token : std::nullopt;
  }
  const std::string& key() const noexcept override { return semaphore_.key(); }
  Runtime& runtime() const noexcept override { return semaphore_.runtime(); }

 private:
  bool remember(std::optional<Permit> permit) {
    if (!permit) return false;
    const std::scoped_lock guard(mutex_);
    permits_[runtime().task_id()] = std::move(*permit);
    return true;
  }
  std::optional<Permit> mine() const {
    const std::scoped_lock guard(mutex_);
    const auto found = permits_.find(runtime().task_id());
    return found == permits_.end() ? std::nullopt : std::optional(found->second);
  }

  PermitSemaphore semaphore_;
  mutable Mutex mutex_;
  std::map<TaskId, Permit> permits_;
};

std::unique_ptr<LockSpace> make_multi(const LockSpaceOptions& options) {
  return make_pairs(options, [](std::vector<std::shared_ptr<Lock>> members) {
    return std::make_shared<MultiLock>(std::move(members));
  });
}

std::unique_ptr<LockSpace> make_permit_semaphore(const LockSpaceOptions& options) {
  return keyed(
      [&client = options.client, lock = options.lock, permits = options.permits](const std::string& key) {
        return std::make_shared<PermitLock>(client, lock, permits, key);
      });
}

}  // namespace

std::unique_ptr<LockSpace> make_pairs(const LockSpaceOptions& options, JoinLocks join) {
  return keyed([&client = options.client, lock = options.lock, join = std::move(join)](
                   const std::string& key) { return std::make_shared<NamedMulti>(client, lock, key, join); });
}

std::vector<LockKind> composite_lock_kinds() {
  return {
      {.name = "permit-semaphore",
       .about = "permits with ids that expire, given back and extended by whoever knows the id",
       .promises_validity = true,
       .counts_permits = true,
       .tokens = true,
       .names_acquisitions = true,
       .make = make_permit_semaphore,
       .read_effects = semaphore_effects},
      {.name = "multi",
       .about = "several locks as one, all or nothing (here: two reentrant ones)",
       .reentrant = true,
       .promises_validity = true,
       .pair = true,
       .names_acquisitions = true,
       .make = make_multi,
       .read_effects = reentrant_effects},
  };
}

}  // namespace holdfast::sim
