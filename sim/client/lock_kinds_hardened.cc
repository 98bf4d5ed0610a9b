// The locks of lib/lock. One more: a row, a space that makes it, and a function that reads its commands.
#include <map>
#include <memory>

#include "lib/lock/reentrant_lock.h"
#include "lib/lock/reentrant_scripts.h"
#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {
namespace {

using checker::Function;

class ReentrantSpace final : public LockSpace {
 public:
  explicit ReentrantSpace(const LockSpaceOptions& options) : locks_(options.client, options.lock) {}
  Lock& obtain(const std::string& key) override {
    std::shared_ptr<Lock>& lock = used_[key];
    if (!lock) lock = locks_.obtain(key);
    return *lock;
  }

 private:
  ReentrantLocks locks_;
  std::map<std::string, std::shared_ptr<Lock>> used_;
};

std::vector<StoreEffect> reentrant_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  if (calls(command, kReentrantAcquire, call) && call.keys.size() == 1 && call.args.size() == 2) {
    const bool granted = !reply.items.empty() && is_one(reply.items[0]);
    return {effect(Function::store_grant, call.keys[0], call.args[0], granted)};
  }
  if (calls(command, kReentrantRelease, call) && call.keys.size() == 2 && call.args.size() == 1) {
    return {effect(Function::store_remove, call.keys[0], call.args[0], is_one(reply))};
  }
  std::vector<StoreEffect> effects;
  if (calls(command, kReentrantRenew, call) && call.args.size() == call.keys.size() + 1) {
    for (std::size_t i = 0; i < call.keys.size(); ++i) {
      const bool renewed = i < reply.items.size() && is_one(reply.items[i]);
      effects.push_back(effect(Function::store_extend, call.keys[i], call.args[i + 1], renewed));
    }
  }
  return effects;
}

}  // namespace

std::vector<LockKind> hardened_lock_kinds() {
  return {
      {.name = "reentrant",
       .about = "exclusive and reentrant, in Redisson's layout; watchdog, pub/sub wake-up, told loss",
       .reentrant = true,
       .promises_validity = true,
       .make = make_space<ReentrantSpace>,
       .read_effects = reentrant_effects},
  };
}

}  // namespace holdfast::sim
