// The locks of lib/lock. One more: a row, a space that makes it, and a function that reads its commands.
#include <map>
#include <memory>

#include "lib/lock/fair_lock.h"
#include "lib/lock/fair_scripts.h"
#include "lib/lock/fenced_lock.h"
#include "lib/lock/non_reentrant_lock.h"
#include "lib/lock/reentrant_lock.h"
#include "lib/lock/reentrant_scripts.h"
#include "lib/lock/spin_lock.h"
#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {
namespace {

using checker::Function;

// The locks of a class of lib/lock that derives from Locks.
template <class Kind>
class Space final : public LockSpace {
 public:
  explicit Space(const LockSpaceOptions& options) : locks_(options.client, options.lock) {}
  Lock& obtain(const std::string& key) override {
    std::shared_ptr<Lock>& lock = used_[key];
    if (!lock) lock = locks_.obtain(key);
    return *lock;
  }

 private:
  Kind locks_;
  std::map<std::string, std::shared_ptr<Lock>> used_;
};

std::vector<StoreEffect> reentrant_effects(const Command& command, const redis::Reply& reply) {
  ScriptCall call;
  const bool acquires = calls(command, kReentrantAcquire, call) ||
                        calls(command, kReentrantAcquireFenced, call) || calls(command, kFairAcquire, call);
  if (acquires && !call.keys.empty() && call.args.size() >= 2) {
    const bool granted = !reply.items.empty() && is_one(reply.items[0]);
    return {effect(Function::store_grant, call.keys[0], call.args[0], granted)};
  }
  const bool releases = calls(command, kReentrantRelease, call) || calls(command, kFairRelease, call);
  if (releases && !call.keys.empty() && call.args.size() == 1) {
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
       .tokens = true,
       .make = make_space<Space<ReentrantLocks>>,
       .read_effects = reentrant_effects},
      {.name = "non-reentrant",
       .about = "as reentrant, but a second acquire by the holder is refused",
       .promises_validity = true,
       .tokens = true,
       .make = make_space<Space<NonReentrantLocks>>,
       .read_effects = reentrant_effects},
      {.name = "fair",
       .about = "first come, first served; dead waiters are skipped",
       .reentrant = true,
       .promises_validity = true,
       .fair = true,
       .tokens = true,
       .make = make_space<Space<FairLocks>>,
       .read_effects = reentrant_effects},
      {.name = "spin",
       .about = "as reentrant, but waiters ask again after 1 .. 128 ms instead of subscribing",
       .reentrant = true,
       .promises_validity = true,
       .tokens = true,
       .make = make_space<Space<SpinLocks>>,
       .read_effects = reentrant_effects},
      {.name = "fenced",
       .about = "as reentrant, and every grant has a fencing token",
       .reentrant = true,
       .promises_validity = true,
       .tokens = true,
       .make = make_space<Space<FencedLocks>>,
       .read_effects = reentrant_effects},
  };
}

}  // namespace holdfast::sim
