// Redisson 3.13.6 as published, and what came of it later (lib/historic).
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "lib/historic/redisson_reentrant.h"
#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {
namespace {

using checker::Function;

template <class Kind>
class RedissonSpace final : public LockSpace {
 public:
  explicit RedissonSpace(const LockSpaceOptions& options)
      : redisson_(std::make_shared<historic::Redisson>(options.client, options.lock)) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<Kind>& lock = locks_[key];
    if (!lock) lock = std::make_unique<Kind>(redisson_, key);
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

}  // namespace

std::vector<LockKind> historic_redisson_kinds() {
  return {
      {.name = "redisson-3.13-reentrant",
       .about = "Redisson 3.13.6's RLock: counts on the server, re-sent scripts, WAIT ignored, as published",
       .historic = true,
       .reentrant = true,
       .make = make_space<RedissonSpace<historic::RedissonReentrant>>,
       .read_effects = reentrant_effects},
  };
}

}  // namespace holdfast::sim
