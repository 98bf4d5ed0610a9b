// Redisson 3.13.6 as published, what came of it later, and Redlock (sim/historic).
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/client/lock_kind_rows.h"
#include "sim/historic/redisson/redisson_fair.h"
#include "sim/historic/redisson/redisson_fenced.h"
#include "sim/historic/redisson/redisson_redlock.h"
#include "sim/historic/redisson/redisson_reentrant.h"
#include "sim/historic/redisson/redisson_wait_connected.h"
#include "sim/historic/redlock/redis_plus_plus_tx.h"
#include "sim/historic/redlock/redlock_classic.h"
#include "sim/historic/redlock/redlock_cpp.h"
#include "sim/historic/redlock/redsync.h"

namespace holdfast::sim {
namespace {

using checker::Function;

// A lock of Redisson as tryLock(wait, lease) and lock(lease) take it; otherwise the same.
class LeasedLock final : public Lock {
 public:
  LeasedLock(historic::RedissonLock& lock, Duration lease) : lock_(lock), lease_(lease) {}

  void lock() override { lock_.lock_with_lease(lease_); }
  bool try_lock() override { return lock_.try_lock_with_lease(Duration::zero(), lease_); }
  bool try_lock_until(MonotonicTime deadline, std::stop_token stop = {}) override {
    const Duration wait = std::max(Duration::zero(), Duration(deadline - runtime().now()));
    return lock_.try_lock_with_lease(wait, lease_, std::move(stop));
  }
  void release() override { lock_.release(); }
  bool is_held_by_me() const override { return lock_.is_held_by_me(); }
  int hold_count() const override { return lock_.hold_count(); }
  std::optional<MonotonicTime> valid_until() const override { return lock_.valid_until(); }
  std::string acquisition() const override { return lock_.acquisition(); }
  std::stop_token lost() const override { return lock_.lost(); }
  const std::string& key() const noexcept override { return lock_.key(); }
  Runtime& runtime() const noexcept override { return lock_.runtime(); }

 private:
  historic::RedissonLock& lock_;
  const Duration lease_;
};

// REQUIRES: every lock of it is a RedissonLock.
class RedissonSpace final : public KeyedSpace {
 public:
  using KeyedSpace::KeyedSpace;
  std::shared_ptr<Lock> obtain_leased(const std::string& key, Duration lease) override {
    std::shared_ptr<LeasedLock>& leased = leased_[{key, lease}];
    if (!leased) leased = std::make_shared<LeasedLock>(redisson_lock(key), lease);
    return leased;
  }
  bool still_held(Lock& lock) override { return redisson_lock(lock.key()).is_held_by_current_thread(); }

 private:
  historic::RedissonLock& redisson_lock(const std::string& key) {
    return static_cast<historic::RedissonLock&>(*obtain(key));
  }
  std::map<std::pair<std::string, Duration>, std::shared_ptr<LeasedLock>> leased_;
};

// `kArguments`: what the lock is made from besides Redisson and key.
template <class Kind, auto... kArguments>
std::unique_ptr<LockSpace> make_space(const LockSpaceOptions& options) {
  const auto redisson = make_redisson(options);
  return std::make_unique<RedissonSpace>(
      [redisson](const std::string& key) { return std::make_shared<Kind>(redisson, key, kArguments...); });
}

bool is_nil(const redis::Reply& reply) { return reply.is_nil(); }

std::vector<StoreEffect> renewal_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedissonRenew, call) && call.keys.size() == 1 && call.args.size() == 2) {
    return {effect(Function::store_extend, call.keys[0], call.args[1], is_one(reply))};
  }
  return {};
}

std::vector<StoreEffect> reentrant_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedissonAcquire, call) && call.keys.size() == 1 && call.args.size() == 2) {
    return {effect(Function::store_grant, call.keys[0], call.args[1], is_nil(reply))};
  }
  if (calls(command, historic::kRedissonUnlock, call) && call.keys.size() == 2 && call.args.size() == 3) {
    return {effect(Function::store_remove, call.keys[0], call.args[2], is_one(reply))};
  }
  return renewal_effects(command, reply);
}

// Of an unlock whose answer 1 does not tell whether it removed anything. All others: it did not.
StoreEffect removal(std::string_view key, std::string_view owner, const redis::Reply& reply) {
  StoreEffect made = effect(Function::store_remove, key, owner, false);
  made.understood = !is_one(reply);
  return made;
}

// An unlock is answered with 1 as well when the lock was gone before.
std::vector<StoreEffect> fair_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  const bool asks = calls(command, historic::kRedissonFairAcquire, call) ||
                    calls(command, historic::kRedissonFairTry, call);
  if (asks && call.keys.size() == 3 && call.args.size() == 4) {
    return {effect(Function::store_grant, call.keys[0], call.args[1], is_nil(reply))};
  }
  if (calls(command, historic::kRedissonFairUnlock, call) && call.keys.size() == 4 && call.args.size() == 4) {
    return {removal(call.keys[0], call.args[2], reply)};
  }
  return renewal_effects(command, reply);
}

template <class Kind>
std::unique_ptr<LockSpace> make_wait_connected(const LockSpaceOptions& options) {
  const auto redisson = make_redisson(options, historic::RedissonRenewals::Persistence::goes_on);
  const auto replicas = std::make_shared<historic::ConnectedReplicas>(redisson);
  return std::make_unique<RedissonSpace>([redisson, replicas](const std::string& key) {
    return std::make_shared<Kind>(redisson, replicas, key);
  });
}

// An unlock that is asked again is answered by its latch, whoever holds the lock by then.
std::vector<StoreEffect> wait_connected_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedissonAcquire, call) && call.keys.size() == 1 && call.args.size() == 2) {
    return {effect(Function::store_grant, call.keys[0], call.args[1], is_nil(reply))};
  }
  if (calls(command, historic::kRedissonLatchUnlock, call) && call.keys.size() == 3 &&
      call.args.size() == 5) {
    return {removal(call.keys[0], call.args[2], reply)};
  }
  return renewal_effects(command, reply);
}

std::vector<StoreEffect> fenced_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedissonFencedAcquire, call) && call.keys.size() == 2 &&
      call.args.size() == 2) {
    const bool granted = reply.items.size() == 2 && reply.items[1].integer != -1;
    return {effect(Function::store_grant, call.keys[0], call.args[1], granted)};
  }
  return wait_connected_effects(command, reply);
}

std::vector<redis::Client*> nodes_of(const LockSpaceOptions& options) {
  return options.nodes.empty() ? std::vector<redis::Client*>{&options.client} : options.nodes;
}

std::unique_ptr<LockSpace> make_redisson_redlock(const LockSpaceOptions& options) {
  const auto servers = std::make_shared<historic::RedissonServers>(nodes_of(options), options.lock);
  return keyed([servers](const std::string& key) {
    return std::make_shared<historic::RedissonRedLock>(servers, key);
  });
}

std::unique_ptr<LockSpace> make_redlock(const LockSpaceOptions& options) {
  return keyed([nodes = nodes_of(options), lock = options.lock](const std::string& key) {
    return std::make_shared<historic::RedlockClassic>(nodes, lock, key);
  });
}

std::unique_ptr<LockSpace> make_redlock_cpp(const LockSpaceOptions& options) {
  return keyed([nodes = nodes_of(options), lock = options.lock](const std::string& key) {
    return std::make_shared<historic::RedlockCpp>(nodes, lock, key);
  });
}

class RedsyncSpace final : public KeyedSpace {
 public:
  using KeyedSpace::KeyedSpace;
  bool still_held(Lock& lock) override { return static_cast<historic::Redsync&>(lock).valid(); }
};

std::unique_ptr<LockSpace> make_redsync(const LockSpaceOptions& options) {
  return std::make_unique<RedsyncSpace>(
      [nodes = nodes_of(options), lock = options.lock](const std::string& key) {
        return std::make_shared<historic::Redsync>(nodes, lock, key);
      });
}

std::unique_ptr<LockSpace> make_redis_plus_plus(const LockSpaceOptions& options) {
  return keyed([nodes = nodes_of(options), lock = options.lock](const std::string& key) {
    return std::make_shared<historic::RedisPlusPlusTx>(nodes, lock, key);
  });
}

std::vector<StoreEffect> redlock_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() == 6 && is(command[0], "SET") && is(command[3], "NX") && is(command[4], "PX")) {
    return {effect(Function::store_grant, command[1], command[2], is_ok(reply))};
  }
  ScriptCall call;
  if (calls(command, historic::kRedlockUnlock, call) && call.keys.size() == 1 && call.args.size() == 1) {
    return {effect(Function::store_remove, call.keys[0], call.args[0], is_one(reply))};
  }
  return {};
}

std::vector<StoreEffect> redis_plus_plus_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedisPlusPlusExtend, call) && call.keys.size() == 1 &&
      call.args.size() == 2) {
    return {effect(Function::store_extend, call.keys[0], call.args[0], is_one(reply))};
  }
  return redlock_effects(command, reply);
}

std::vector<StoreEffect> redsync_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedsyncDelete, call) && call.keys.size() == 1 && call.args.size() == 1) {
    return {effect(Function::store_remove, call.keys[0], call.args[0], is_one(reply))};
  }
  return redlock_effects(command, reply);
}

// A call to continue is answered as the first one is: it grants what has gone, too.
std::vector<StoreEffect> redlock_cpp_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedlockCppContinue, call) && call.keys.size() == 1 && call.args.size() == 3) {
    return {effect(Function::store_grant, call.keys[0], call.args[1], is_ok(reply))};
  }
  return redlock_effects(command, reply);
}

}  // namespace

std::shared_ptr<historic::Redisson> make_redisson(const LockSpaceOptions& options,
                                                  historic::RedissonRenewals::Persistence persistence) {
  auto redisson = std::make_shared<historic::Redisson>(options.client, options.lock, persistence);
  redisson->set_replicas(options.replicas);
  return redisson;
}

std::vector<LockKind> historic_redisson_kinds() {
  using Reading = historic::RedissonFair::Reading;
  return {
      {.name = "redisson-3.13-reentrant",
       .about = "Redisson 3.13.6's RLock: counts on the server, re-sent scripts, WAIT ignored, as published",
       .historic = true,
       .reentrant = true,
       .own_lease = true,
       .make = make_space<historic::RedissonReentrant>,
       .read_effects = reentrant_effects},
      {.name = "redisson-3.13-fair",
       .about = "Redisson 3.13.6's fair lock: list and zset, clients' clocks, 300 s for every waiter, as "
                "published",
       .historic = true,
       .reentrant = true,
       .fair = true,
       .own_lease = true,
       .make = make_space<historic::RedissonFair, Reading::source>,
       .read_effects = fair_effects},
      {.name = "redisson-3.13-fair-as-described",
       .about = "the same as the article describes it: now + 5000 where the script means a wait",
       .historic = true,
       .reentrant = true,
       .fair = true,
       .own_lease = true,
       .make = make_space<historic::RedissonFair, Reading::as_described>,
       .read_effects = fair_effects},
      {.name = "redisson-wait-connected",
       .about = "Redisson's later RLock: a grant is taken back when no connected replica acknowledges it",
       .historic = true,
       .reentrant = true,
       .own_lease = true,
       .make = make_wait_connected<historic::RedissonWaitConnected>,
       .read_effects = wait_connected_effects},
      {.name = "redisson-fenced",
       .about =
           "Redisson's RFencedLock: the same with a counter, and getToken(), which tells what it says now",
       .historic = true,
       .reentrant = true,
       .tokens = true,
       .own_lease = true,
       .make = make_wait_connected<historic::RedissonFenced>,
       .read_effects = fenced_effects},
      // The PEXPIRE at its end does not say for whom: it is not in the ledger.
      {.name = "redisson-3.13-redlock",
       .about =
           "Redisson 3.13.6's RedissonRedLock over n of its locks: no validity, PEXPIRE on whoever's, as "
           "published",
       .historic = true,
       .reentrant = true,
       .quorum = true,
       .make = make_redisson_redlock,
       .read_effects = reentrant_effects},
      {.name = "redis-plus-plus-tx",
       .about = "redis++'s RedMutex without scripts: an extension that succeeds for whoever lost the lock",
       .historic = true,
       .quorum = true,
       .lease = std::chrono::seconds(3),
       .make = make_redis_plus_plus,
       .read_effects = redis_plus_plus_effects},
      {.name = "redlock-classic",
       .about =
           "Redlock on independent servers: SET NX PX in turn, majority, drift, release on all; as published",
       .historic = true,
       .promises_validity = true,
       .quorum = true,
       .make = make_redlock,
       .read_effects = redlock_effects},
      {.name = "redlock-cpp",
       .about =
           "redlock-cpp's ContinueLock(), which locks and renews in one: what has gone is made anew; whole "
           "seconds",
       .historic = true,
       .promises_validity = true,
       .quorum = true,
       .make = make_redlock_cpp,
       .read_effects = redlock_cpp_effects},
      {.name = "redsync",
       .about = "redsync (Go): Redlock that asks all servers at once; Valid() says yes after the end of what "
                "it asked",
       .historic = true,
       .promises_validity = true,
       .quorum = true,
       .lease = std::chrono::seconds(8),
       .make = make_redsync,
       .read_effects = redsync_effects},
  };
}

}  // namespace holdfast::sim
