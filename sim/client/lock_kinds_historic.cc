// The published designs of lib/historic, except Redisson (lock_kinds_redisson.cc).
#include <map>
#include <memory>

#include "lib/historic/lock_interface.h"
#include "sim/client/lock_kind_rows.h"

namespace holdfast::sim {
namespace {

using checker::Function;

template <historic::LockInterface::Unlock kUnlock>
class LockInterfaceSpace final : public LockSpace {
 public:
  explicit LockInterfaceSpace(const LockSpaceOptions& options)
      : client_(options.client), options_(options.lock) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<historic::LockInterface>& lock = locks_[key];
    if (!lock) lock = std::make_unique<historic::LockInterface>(client_, options_, key, kUnlock);
    return *lock;
  }

 private:
  redis::Client& client_;
  LockOptions options_;
  std::map<std::string, std::unique_ptr<historic::LockInterface>> locks_;
};

std::vector<StoreEffect> lock_interface_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() == 6 && is(command[0], "SET") && is(command[3], "NX") && is(command[4], "PX")) {
    const bool granted = reply.type == redis::Reply::Type::status && reply.text == "OK";
    return {effect(Function::store_grant, command[1], command[2], granted)};
  }
  ScriptCall call;
  if (calls(command, historic::kLockInterfaceUnlock, call) && call.keys.size() == 1 &&
      call.args.size() == 1) {
    return {effect(Function::store_remove, call.keys[0], call.args[0], is_one(reply))};
  }
  if (command.size() == 2 && is(command[0], "DEL")) {
    return {effect(Function::store_remove, command[1], "", is_one(reply))};
  }
  return {};
}

}  // namespace

std::vector<LockKind> historic_lock_kinds() {
  using Unlock = historic::LockInterface::Unlock;
  return {
      {.name = "lock-interface",
       .about = "hand-written Lock (SET NX PX, polling every 100 ms, compare-and-delete), as published",
       .historic = true,
       .make = make_space<LockInterfaceSpace<Unlock::compare_and_delete>>,
       .read_effects = lock_interface_effects},
      {.name = "lock-interface-get-del",
       .about = "the same with the older unlock: GET, compare, DEL as two commands",
       .historic = true,
       .make = make_space<LockInterfaceSpace<Unlock::get_then_del>>,
       .read_effects = lock_interface_effects},
  };
}

}  // namespace holdfast::sim
