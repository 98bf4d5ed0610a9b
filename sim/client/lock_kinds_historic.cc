// The published designs of lib/historic, except Redisson (lock_kinds_redisson.cc).
#include <map>
#include <memory>

#include "sim/client/lock_kind_rows.h"
#include "sim/historic/annotation/annotation.h"
#include "sim/historic/annotation/annotation_renewing.h"
#include "sim/historic/lock_interface/lock_interface.h"
#include "sim/historic/lock_interface/lock_interface_fair.h"
#include "sim/historic/lock_interface/lock_interface_reentrant.h"
#include "sim/historic/lock_interface/lock_interface_watchdog.h"
#include "sim/historic/naive/fencing_incr.h"
#include "sim/historic/naive/get_del_unlock.h"
#include "sim/historic/naive/setnx_expire.h"
#include "sim/historic/spring/spring_registry.h"

namespace holdfast::sim {
namespace {

using checker::Function;

// Of the designs whose locks need nothing but a client, options and a key.
template <class AnyLock>
class PlainSpace final : public LockSpace {
 public:
  explicit PlainSpace(const LockSpaceOptions& options) : client_(options.client), options_(options.lock) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<AnyLock>& lock = locks_[key];
    if (!lock) lock = std::make_unique<AnyLock>(client_, options_, key);
    return *lock;
  }

 private:
  redis::Client& client_;
  LockOptions options_;
  std::map<std::string, std::unique_ptr<AnyLock>> locks_;
};

// SET NX PX and SETNX; the script that compares and deletes; DEL, which does not say for whom. (The EXPIRE
// after SETNX belongs to the grant.)
std::vector<StoreEffect> value_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() == 6 && is(command[0], "SET") && is(command[3], "NX") && is(command[4], "PX")) {
    return {effect(Function::store_grant, command[1], command[2], is_ok(reply))};
  }
  if (command.size() == 3 && is(command[0], "SETNX")) {
    return {effect(Function::store_grant, command[1], command[2], is_one(reply))};
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

// The same, renewed by PEXPIRE, which does not say for whom either.
std::vector<StoreEffect> watchdog_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() == 3 && is(command[0], "PEXPIRE")) {
    return {effect(Function::store_extend, command[1], "", is_one(reply))};
  }
  return value_effects(command, reply);
}

class ReentrantInterfaceSpace final : public LockSpace {
 public:
  explicit ReentrantInterfaceSpace(const LockSpaceOptions& options)
      : client_(options.client), options_(options.lock), threads_(client_.runtime()) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<historic::LockInterfaceReentrant>& lock = locks_[key];
    if (!lock) {
      lock = std::make_unique<historic::LockInterfaceReentrant>(client_, options_, key, threads_);
    }
    return *lock;
  }

 private:
  redis::Client& client_;
  LockOptions options_;
  historic::ThreadNumbers threads_;
  std::map<std::string, std::unique_ptr<historic::LockInterfaceReentrant>> locks_;
};

// What is written does not tell one acquisition of a process from another: its records are the process'.
constexpr std::string_view kOfTheProcess = "process";

std::vector<StoreEffect> reentrant_interface_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() == 6 && is(command[0], "SET") && is(command[3], "NX")) {
    return {effect(Function::store_grant, command[1], kOfTheProcess, is_ok(reply))};
  }
  if (command.size() == 5 && is(command[0], "SET")) {
    return {effect(Function::store_extend, command[1], kOfTheProcess, is_ok(reply))};
  }
  if (command.size() == 2 && is(command[0], "DEL")) {
    return {effect(Function::store_remove, command[1], kOfTheProcess, is_one(reply))};
  }
  return {};
}

historic::AnnotationOptions annotation_options(const LockOptions& options) {
  return {.expired_time = options.lease, .observer = options.observer};
}

class AnnotationSpace final : public LockSpace {
 public:
  explicit AnnotationSpace(const LockSpaceOptions& options)
      : client_(options.client), options_(annotation_options(options.lock)) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<historic::AnnotationLock>& lock = locks_[key];
    if (!lock) lock = std::make_unique<historic::AnnotationLock>(client_, options_, key);
    return *lock;
  }

 private:
  redis::Client& client_;
  const historic::AnnotationOptions options_;
  std::map<std::string, std::unique_ptr<historic::AnnotationLock>> locks_;
};

class AnnotationRenewingSpace final : public LockSpace {
 public:
  explicit AnnotationRenewingSpace(const LockSpaceOptions& options)
      : client_(options.client),
        options_(annotation_options(options.lock)),
        max_renewals_(options.lock.max_renewals),
        scheduler_(client_, options_.observer) {}
  Lock& obtain(const std::string& key) override {
    std::unique_ptr<historic::AnnotationRenewingLock>& lock = locks_[key];
    if (!lock) {
      lock = std::make_unique<historic::AnnotationRenewingLock>(client_, scheduler_, options_, key,
                                                                max_renewals_);
    }
    return *lock;
  }

 private:
  redis::Client& client_;
  const historic::AnnotationOptions options_;
  const std::optional<int> max_renewals_;
  historic::RenewalScheduler scheduler_;
  std::map<std::string, std::unique_ptr<historic::AnnotationRenewingLock>> locks_;
};

// SET EX NX; DEL and EXPIRE, which do not say for whom.
std::vector<StoreEffect> annotation_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() < 2 || !command[1].starts_with(historic::kAnnotationPrefix)) return {};
  const std::string_view key = command[1].substr(historic::kAnnotationPrefix.size());
  if (command.size() == 6 && is(command[0], "SET") && is(command[3], "EX") && is(command[5], "NX")) {
    return {effect(Function::store_grant, key, command[2], is_ok(reply))};
  }
  if (command.size() == 2 && is(command[0], "DEL")) {
    return {effect(Function::store_remove, key, "", is_one(reply))};
  }
  if (command.size() == 3 && is(command[0], "EXPIRE")) {
    return {effect(Function::store_extend, key, "", is_one(reply))};
  }
  return {};
}

// One registry a process, as applications have it.
constexpr std::string_view kRegistryKey = "locks";

class SpringSpace final : public LockSpace {
 public:
  explicit SpringSpace(const LockSpaceOptions& options)
      : registry_(options.client, std::string(kRegistryKey),
                  {.expire_after = options.lock.lease, .observer = options.lock.observer}) {}
  Lock& obtain(const std::string& key) override {
    std::shared_ptr<historic::SpringLock>& lock = used_[key];
    if (!lock) lock = registry_.obtain(key);
    return *lock;
  }

 private:
  historic::SpringRegistry registry_;
  std::map<std::string, std::shared_ptr<historic::SpringLock>> used_;
};

// The value is the registry's: as above, its records are the process'.
std::vector<StoreEffect> spring_effects(const Command& command, const redis::Reply& reply) {
  const auto key_of = [](std::string_view store_key) { return store_key.substr(kRegistryKey.size() + 1); };
  ScriptCall call;
  if (calls(command, historic::kSpringObtain, call) && call.keys.size() == 1) {
    return {effect(Function::store_grant, key_of(call.keys[0]), kOfTheProcess, is_one(reply))};
  }
  if (command.size() == 2 && (is(command[0], "UNLINK") || is(command[0], "DEL"))) {
    return {effect(Function::store_remove, key_of(command[1]), kOfTheProcess, is_one(reply))};
  }
  return {};
}

}  // namespace

std::vector<LockKind> historic_lock_kinds() {
  return {
      {.name = "spring-registry",
       .about = "Spring Integration's RedisLockRegistry 5.x (obtain script, polling, GET and UNLINK), as "
                "published",
       .historic = true,
       .reentrant = true,
       .make = make_space<SpringSpace>,
       .read_effects = spring_effects},
      {.name = "annotation",
       .about = "a method annotation (SET EX NX, polling for 5 s, GET and DEL), as published",
       .historic = true,
       .make = make_space<AnnotationSpace>,
       .read_effects = annotation_effects},
      {.name = "annotation-renewing",
       .about = "the same, renewed by key every 2 s by a scheduler that unlock does not tell",
       .historic = true,
       .make = make_space<AnnotationRenewingSpace>,
       .read_effects = annotation_effects},
      {.name = "lock-interface",
       .about = "hand-written Lock (SET NX PX, polling every 100 ms, compare-and-delete), as published",
       .historic = true,
       .make = make_space<PlainSpace<historic::LockInterface>>,
       .read_effects = value_effects},
      {.name = "lock-interface-reentrant",
       .about = "the same, reentrant by a thread-local count and a JSON value of thread id and count",
       .historic = true,
       .reentrant = true,
       .make = make_space<ReentrantInterfaceSpace>,
       .read_effects = reentrant_interface_effects},
      {.name = "lock-interface-fair",
       .about = "the same, fair by a list: each attempt checks whether it is its turn",
       .historic = true,
       .fair = true,
       .make = make_space<PlainSpace<historic::LockInterfaceFair>>,
       .read_effects = value_effects},
      {.name = "lock-interface-watchdog",
       .about = "the same, renewed by key at a third of the lease until the first error",
       .historic = true,
       .make = make_space<PlainSpace<historic::LockInterfaceWatchdog>>,
       .read_effects = watchdog_effects},
      {.name = "get-del-unlock",
       .about = "SET NX PX with the older unlock: GET, compare, DEL as two commands",
       .historic = true,
       .make = make_space<PlainSpace<historic::GetDelUnlock>>,
       .read_effects = value_effects},
      {.name = "setnx-expire",
       .about = "SETNX, then EXPIRE as a second command; DEL",
       .historic = true,
       .make = make_space<PlainSpace<historic::SetnxExpire>>,
       .read_effects = value_effects},
      {.name = "fencing-incr",
       .about = "SET NX PX, and a token from INCR of a counter in the same Redis",
       .historic = true,
       .tokens = true,
       .make = make_space<PlainSpace<historic::FencingIncr>>,
       .read_effects = value_effects},
  };
}

}  // namespace holdfast::sim
