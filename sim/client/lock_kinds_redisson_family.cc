// Redisson's read-write lock, semaphores and count-down latch as published (sim/historic/redisson).
// Adapters make of the last two what a workload can drive.
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "sim/client/lock_kind_rows.h"
#include "sim/historic/redisson/redisson_count_down_latch.h"
#include "sim/historic/redisson/redisson_read_write.h"
#include "sim/historic/redisson/redisson_semaphore.h"
#include "sim/historic/redisson/redisson_semaphore_checked.h"

namespace holdfast::sim {
namespace {

using checker::Function;

// --- read-write ----------------------------------------------------------------------------------------

class RedissonReadWriteSpace final : public LockSpace {
 public:
  explicit RedissonReadWriteSpace(const LockSpaceOptions& options) : redisson_(make_redisson(options)) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override {
    const auto both = both_of(key);
    return {both, &both->write()};
  }
  std::shared_ptr<Lock> obtain_shared(const std::string& key) override {
    const auto both = both_of(key);
    return {both, &both->read()};
  }
  bool still_held(Lock& lock) override {
    return static_cast<historic::RedissonLock&>(lock).is_held_by_current_thread();
  }

 private:
  const std::shared_ptr<historic::RedissonReadWrite>& both_of(const std::string& key) {
    std::shared_ptr<historic::RedissonReadWrite>& both = locks_[key];
    if (!both) both = std::make_shared<historic::RedissonReadWrite>(redisson_, key);
    return both;
  }

  const std::shared_ptr<historic::Redisson> redisson_;
  std::map<std::string, std::shared_ptr<historic::RedissonReadWrite>> locks_;
};

std::unique_ptr<LockSpace> make_read_write(const LockSpaceOptions& options) {
  return std::make_unique<RedissonReadWriteSpace>(options);
}

// An unlock is answered with 1 as well when the lock was gone before; that of a reader with 0 whether it
// holds it still or others do. The other owners whom the renewal of one reader extends are not in the ledger.
std::vector<StoreEffect> redisson_read_write_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedissonReadAcquire, call) && call.keys.size() == 2 &&
      call.args.size() == 3) {
    StoreEffect grant = effect(Function::store_grant, call.keys[0], call.args[1], reply.is_nil());
    grant.mode = "read";
    return {grant};
  }
  if (calls(command, historic::kRedissonWriteAcquire, call) && call.keys.size() == 1 &&
      call.args.size() == 2) {
    return {effect(Function::store_grant, call.keys[0], call.args[1], reply.is_nil())};
  }
  if (calls(command, historic::kRedissonReadUnlock, call) && call.keys.size() == 4 && call.args.size() == 2) {
    StoreEffect removal = effect(Function::store_remove, call.keys[0], call.args[1], false);
    removal.understood = reply.is_nil();
    return {removal};
  }
  if (calls(command, historic::kRedissonWriteUnlock, call) && call.keys.size() == 2 &&
      call.args.size() == 3) {
    StoreEffect removal = effect(Function::store_remove, call.keys[0], call.args[2], false);
    removal.understood = !is_one(reply);
    return {removal};
  }
  const bool renews =
      calls(command, historic::kRedissonRenew, call) || calls(command, historic::kRedissonReadRenew, call);
  if (renews && !call.keys.empty() && call.args.size() == 2) {
    return {effect(Function::store_extend, call.keys[0], call.args[1], is_one(reply))};
  }
  return {};
}

// --- semaphore -----------------------------------------------------------------------------------------

// One permit as a Lock. Each process sets the permits before it first asks, as an application does when it
// starts. A permit has no name of its own: the hold gets one here.
class SemaphoreLock final : public Lock {
 public:
  SemaphoreLock(std::shared_ptr<historic::Redisson> redisson,
                std::unique_ptr<historic::RedissonSemaphore> semaphore, int permits)
      : redisson_(std::move(redisson)),
        semaphore_(std::move(semaphore)),
        permits_(permits),
        mutex_(redisson_->runtime()) {}

  void lock() override {
    set();
    remember(semaphore_->acquire());
  }
  bool try_lock() override {
    set();
    return remember(semaphore_->try_acquire());
  }
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
    set();
    const Duration wait = std::max(Duration::zero(), Duration(deadline - runtime().now()));
    return remember(semaphore_->try_acquire_for(wait, 1, stop));
  }
  void release() override {
    {
      const std::scoped_lock guard(mutex_);
      holds_.erase(runtime().task_id());
    }
    semaphore_->release();
  }

  bool is_held_by_me() const override { return !acquisition().empty(); }
  int hold_count() const override { return is_held_by_me() ? 1 : 0; }
  std::optional<MonotonicTime> valid_until() const override { return std::nullopt; }
  std::string acquisition() const override {
    const std::scoped_lock guard(mutex_);
    const auto found = holds_.find(runtime().task_id());
    return found == holds_.end() ? std::string() : found->second;
  }
  std::stop_token lost() const override { return {}; }
  const std::string& key() const noexcept override { return semaphore_->key(); }
  Runtime& runtime() const noexcept override { return semaphore_->runtime(); }

 private:
  // [parks]
  void set() {
    {
      const std::scoped_lock guard(mutex_);
      if (set_) return;
    }
    semaphore_->try_set_permits(permits_);
    const std::scoped_lock guard(mutex_);
    set_ = true;
  }
  bool remember(const redis::Answer& answer) {
    if (answer.reply.integer != 1) return false;
    const TaskId me = runtime().task_id();
    std::string name;
    {
      const std::scoped_lock guard(mutex_);
      name = holds_[me] = redisson_->owner(me) + "#" + std::to_string(++granted_);
    }
    redisson_->tell({.kind = LockEvent::Kind::acquired,
                     .key = key(),
                     .acquisition = name,
                     .node = answer.node,
                     .sent_at = answer.sent_at});
    return true;
  }

  const std::shared_ptr<historic::Redisson> redisson_;
  const std::unique_ptr<historic::RedissonSemaphore> semaphore_;
  const int permits_;
  mutable Mutex mutex_;
  bool set_ = false;
  std::uint64_t granted_ = 0;
  std::map<TaskId, std::string> holds_;
};

// How many are taken and given back. Whose they are no command says.
std::vector<StoreEffect> redisson_semaphore_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  const bool takes = calls(command, historic::kRedissonSemaphoreAcquire, call);
  if (!takes && !calls(command, historic::kRedissonSemaphoreRelease, call)) return {};
  if (call.keys.empty() || call.args.size() != 1) return {};
  StoreEffect made = effect(takes ? Function::store_grant : Function::store_remove, call.keys[0], "",
                            takes ? is_one(reply) : reply.is_nil());
  std::from_chars(call.args[0].data(), call.args[0].data() + call.args[0].size(), made.permits);
  return {made};
}

std::unique_ptr<LockSpace> make_semaphore(const LockSpaceOptions& options) {
  const auto redisson = make_redisson(options);
  return keyed([redisson, permits = options.permits](const std::string& key) {
    return std::make_shared<SemaphoreLock>(
        redisson, std::make_unique<historic::RedissonSemaphore>(redisson, key), permits);
  });
}

std::unique_ptr<LockSpace> make_checked_semaphore(const LockSpaceOptions& options) {
  const auto redisson = make_redisson(options);
  const auto replicas = std::make_shared<historic::ConnectedReplicas>(redisson);
  return keyed([redisson, replicas, permits = options.permits](const std::string& key) {
    return std::make_shared<SemaphoreLock>(
        redisson, std::make_unique<historic::RedissonSemaphoreChecked>(redisson, replicas, key), permits);
  });
}

// --- latch ---------------------------------------------------------------------------------------------

class RedissonLatch final : public Latch {
 public:
  RedissonLatch(std::shared_ptr<historic::Redisson> redisson, const std::string& key)
      : latch_(std::move(redisson), key) {}
  const std::string& key() const override { return latch_.key(); }
  bool set(std::int64_t count) override { return latch_.try_set_count(count); }
  bool count_down() override {
    latch_.count_down();
    return true;
  }
  bool await(const std::optional<Duration>& wait) override { return latch_.await_for(wait); }

 private:
  historic::RedissonCountDownLatch latch_;
};

class RedissonLatchSpace final : public LatchSpace {
 public:
  explicit RedissonLatchSpace(const LockSpaceOptions& options) : redisson_(make_redisson(options)) {}
  std::shared_ptr<Latch> obtain(const std::string& key) override {
    return std::make_shared<RedissonLatch>(redisson_, key);
  }

 private:
  const std::shared_ptr<historic::Redisson> redisson_;
};

std::unique_ptr<LatchSpace> make_redisson_latches(const LockSpaceOptions& options) {
  return std::make_unique<RedissonLatchSpace>(options);
}

}  // namespace

std::vector<LockKind> historic_redisson_family_kinds() {
  return {
      {.name = "redisson-3.13-read-write",
       .about = "Redisson 3.13.6's read-write lock: readers first, write leases that add up, as published",
       .historic = true,
       .reentrant = true,
       .shared = true,
       .make = make_read_write,
       .read_effects = redisson_read_write_effects},
      {.name = "redisson-3.13-semaphore",
       .about = "Redisson 3.13.6's semaphore: a number, without owners and leases, as published",
       .historic = true,
       .counts_permits = true,
       .make = make_semaphore,
       .read_effects = redisson_semaphore_effects},
      {.name = "redisson-semaphore",
       .about =
           "Redisson's semaphore with the later check of replicas: what nobody acknowledged is given back, "
           "as published",
       .historic = true,
       .counts_permits = true,
       .make = make_checked_semaphore,
       .read_effects = redisson_semaphore_effects},
      {.name = "redisson-3.13-latch",
       .about = "Redisson 3.13.6's count-down latch: a missing key is an open latch, as published (workload "
                "count-down)",
       .historic = true,
       .latch = true,
       .make_latches = make_redisson_latches},
  };
}

}  // namespace holdfast::sim
