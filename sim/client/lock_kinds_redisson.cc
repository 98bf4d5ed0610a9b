// Redisson 3.13.6 as published, what came of it later, and Redlock (lib/historic).
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sim/client/lock_kind_rows.h"
#include "sim/historic/redisson/redisson_fair.h"
#include "sim/historic/redisson/redisson_reentrant.h"
#include "sim/historic/redisson/redisson_wait_connected.h"
#include "sim/historic/redlock/redlock_classic.h"

namespace holdfast::sim {
namespace {

using checker::Function;

// `kArguments`: what the lock is made from besides Redisson and key.
template <class Kind, auto... kArguments>
class RedissonSpace final : public LockSpace {
 public:
  explicit RedissonSpace(const LockSpaceOptions& options)
      : redisson_(std::make_shared<historic::Redisson>(options.client, options.lock)) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<Kind>& lock = locks_[key];
    if (!lock) lock = std::make_unique<Kind>(redisson_, key, kArguments...);
    return *lock;
  }

 private:
  std::shared_ptr<historic::Redisson> redisson_;
  std::map<std::string, std::unique_ptr<Kind>> locks_;
};

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

// Of an unlock the answer does not tell whether there was anything to remove: it is not in the ledger.
std::vector<StoreEffect> fair_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  const bool asks = calls(command, historic::kRedissonFairAcquire, call) ||
                    calls(command, historic::kRedissonFairTry, call);
  if (asks && call.keys.size() == 3 && call.args.size() == 4) {
    return {effect(Function::store_grant, call.keys[0], call.args[1], is_nil(reply))};
  }
  return renewal_effects(command, reply);
}

class WaitConnectedSpace final : public LockSpace {
 public:
  explicit WaitConnectedSpace(const LockSpaceOptions& options)
      : redisson_(std::make_shared<historic::Redisson>(options.client, options.lock,
                                                       historic::RedissonRenewals::Persistence::goes_on)),
        replicas_(std::make_shared<historic::ConnectedReplicas>(options.client)) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<historic::RedissonWaitConnected>& lock = locks_[key];
    if (!lock) lock = std::make_unique<historic::RedissonWaitConnected>(redisson_, replicas_, key);
    return *lock;
  }

 private:
  std::shared_ptr<historic::Redisson> redisson_;
  std::shared_ptr<historic::ConnectedReplicas> replicas_;
  std::map<std::string, std::unique_ptr<historic::RedissonWaitConnected>> locks_;
};

// An unlock that is asked again is answered by its latch, whoever holds the lock by then: not in the ledger.
std::vector<StoreEffect> wait_connected_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, historic::kRedissonAcquire, call) && call.keys.size() == 1 && call.args.size() == 2) {
    return {effect(Function::store_grant, call.keys[0], call.args[1], is_nil(reply))};
  }
  return renewal_effects(command, reply);
}

class RedlockSpace final : public LockSpace {
 public:
  explicit RedlockSpace(const LockSpaceOptions& options) : nodes_(options.nodes), options_(options.lock) {
    if (nodes_.empty()) nodes_.push_back(&options.client);
  }
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<historic::RedlockClassic>& lock = locks_[key];
    if (!lock) lock = std::make_unique<historic::RedlockClassic>(nodes_, options_, key);
    return *lock;
  }

 private:
  std::vector<redis::Client*> nodes_;
  LockOptions options_;
  std::map<std::string, std::unique_ptr<historic::RedlockClassic>> locks_;
};

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

}  // namespace

std::vector<LockKind> historic_redisson_kinds() {
  using Reading = historic::RedissonFair::Reading;
  return {
      {.name = "redisson-3.13-reentrant",
       .about = "Redisson 3.13.6's RLock: counts on the server, re-sent scripts, WAIT ignored, as published",
       .historic = true,
       .reentrant = true,
       .make = make_space<RedissonSpace<historic::RedissonReentrant>>,
       .read_effects = reentrant_effects},
      {.name = "redisson-3.13-fair",
       .about = "Redisson 3.13.6's fair lock: list and zset, clients' clocks, 300 s for every waiter, as "
                "published",
       .historic = true,
       .reentrant = true,
       .fair = true,
       .make = make_space<RedissonSpace<historic::RedissonFair, Reading::source>>,
       .read_effects = fair_effects},
      {.name = "redisson-3.13-fair-as-described",
       .about = "the same as the article describes it: now + 5000 where the script means a wait",
       .historic = true,
       .reentrant = true,
       .fair = true,
       .make = make_space<RedissonSpace<historic::RedissonFair, Reading::as_described>>,
       .read_effects = fair_effects},
      {.name = "redisson-wait-connected",
       .about = "Redisson's later RLock: a grant is taken back when no connected replica acknowledges it",
       .historic = true,
       .reentrant = true,
       .make = make_space<WaitConnectedSpace>,
       .read_effects = wait_connected_effects},
      {.name = "redlock-classic",
       .about =
           "Redlock on independent servers: SET NX PX in turn, majority, drift, release on all; as published",
       .historic = true,
       .promises_validity = true,
       .quorum = true,
       .make = make_space<RedlockSpace>,
       .read_effects = redlock_effects},
  };
}

}  // namespace holdfast::sim
