// The published designs of sim/historic, except Redisson (lock_kinds_redisson.cc).
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
#include "sim/historic/spring/spring_registry_7.h"

namespace holdfast::sim {
namespace {

using checker::Function;

// Of the designs whose locks need nothing but a client, options and a key.
template <class AnyLock>
std::unique_ptr<LockSpace> make_space(const LockSpaceOptions& options) {
  return keyed([&client = options.client, lock = options.lock](const std::string& key) {
    return std::make_shared<AnyLock>(client, lock, key);
  });
}

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

std::unique_ptr<LockSpace> make_reentrant_interface(const LockSpaceOptions& options) {
  const auto threads = std::make_shared<historic::ThreadNumbers>(options.client.runtime());
  return keyed([&client = options.client, lock = options.lock, threads](const std::string& key) {
    return std::make_shared<historic::LockInterfaceReentrant>(client, lock, key, *threads);
  });
}

// A thread's number in {"threadId":N,"count":C}. The records are those of thread N, of whichever process.
std::string of_thread(std::string_view key, std::string_view value) {
  constexpr std::string_view kThread = "\"threadId\":";
  const std::size_t at = value.find(kThread);
  if (at == std::string_view::npos) return {};
  value.remove_prefix(at + kThread.size());
  return "thread " + std::string(value.substr(0, value.find_first_not_of("0123456789"))) + " at " +
         std::string(key);
}

StoreEffect of_thread_effect(Function f, const Command& command, const redis::Reply& reply) {
  StoreEffect made = effect(f, command[1], of_thread(command[1], command[2]), is_ok(reply));
  made.shared_record = true;
  return made;
}

// SET NX PX; SET PX, which writes over whatever stands; DEL, which does not say for whom.
std::vector<StoreEffect> reentrant_interface_effects(const Command& command, const redis::Reply& reply) {
  if (command.size() == 6 && is(command[0], "SET") && is(command[3], "NX")) {
    return {of_thread_effect(Function::store_grant, command, reply)};
  }
  if (command.size() == 5 && is(command[0], "SET")) {
    return {of_thread_effect(Function::store_extend, command, reply)};
  }
  if (command.size() == 2 && is(command[0], "DEL")) {
    return {effect(Function::store_remove, command[1], "", is_one(reply))};
  }
  return {};
}

constexpr historic::AnnotationOptions kAnnotation{};  // as published

historic::AnnotationOptions annotation_options(const LockSpaceOptions& options) {
  return {.expired_time = options.lock.lease,
          .timeout_for_lock = options.wait_timeout.value_or(kAnnotation.timeout_for_lock),
          .observer = options.lock.observer};
}

std::unique_ptr<LockSpace> make_annotation(const LockSpaceOptions& options) {
  return keyed([&client = options.client, lock = annotation_options(options)](const std::string& key) {
    return std::make_shared<historic::AnnotationLock>(client, lock, key);
  });
}

std::unique_ptr<LockSpace> make_annotation_renewing(const LockSpaceOptions& options) {
  const auto scheduler = std::make_shared<historic::RenewalScheduler>(options.client, options.lock.observer);
  return keyed([&client = options.client, lock = annotation_options(options),
                max_renewals = options.lock.max_renewals, scheduler](const std::string& key) {
    return std::make_shared<historic::AnnotationRenewingLock>(client, *scheduler, lock, key, max_renewals);
  });
}

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
  std::shared_ptr<Lock> obtain(const std::string& key) override { return registry_.obtain(key); }
  std::size_t expire_unused_older_than(Duration age) override {
    return registry_.expire_unused_older_than(age);
  }

 private:
  historic::SpringRegistry registry_;
};

std::unique_ptr<LockSpace> make_spring(const LockSpaceOptions& options) {
  return std::make_unique<SpringSpace>(options);
}

class SpringSpace7 final : public LockSpace {
 public:
  SpringSpace7(const LockSpaceOptions& options, bool pub_sub)
      : registry_(options.client, std::string(kRegistryKey),
                  {.expire_after = options.lock.lease,
                   .renews = options.lock.renew,
                   .pub_sub = pub_sub,
                   .observer = options.lock.observer}) {}
  std::shared_ptr<Lock> obtain(const std::string& key) override { return registry_.obtain(key); }
  std::size_t expire_unused_older_than(Duration age) override {
    return registry_.expire_unused_older_than(age);
  }

 private:
  historic::SpringRegistry7 registry_;
};

template <bool pub_sub>
std::unique_ptr<LockSpace> make_spring_7(const LockSpaceOptions& options) {
  return std::make_unique<SpringSpace7>(options, pub_sub);
}

// The value is the registry's: what is written does not tell one acquisition of a process from another.
constexpr std::string_view kOfTheProcess = "process";

std::vector<StoreEffect> spring_effects(const Command& command, const redis::Reply& reply) {
  const auto key_of = [](std::string_view store_key) { return store_key.substr(kRegistryKey.size() + 1); };
  ScriptCall call;
  if (calls(command, historic::kSpringObtain, call) && call.keys.size() == 1) {
    StoreEffect grant = effect(Function::store_grant, key_of(call.keys[0]), kOfTheProcess, is_one(reply));
    if (!call.args.empty()) grant.of_process = call.args[0];
    return {grant};
  }
  if (command.size() == 2 && (is(command[0], "UNLINK") || is(command[0], "DEL"))) {
    return {effect(Function::store_remove, key_of(command[1]), kOfTheProcess, is_one(reply))};
  }
  return {};
}

std::vector<StoreEffect> spring_7_effects(const Command& command, const redis::Reply& reply) {
  const auto key_of = [](std::string_view store_key) { return store_key.substr(kRegistryKey.size() + 1); };
  ScriptCall call;
  for (const redis::Script* const unlock : {&historic::kSpring7Unlock, &historic::kSpring7UnlockPublish}) {
    if (calls(command, *unlock, call) && call.keys.size() == 1)
      return {effect(Function::store_remove, key_of(call.keys[0]), kOfTheProcess, is_one(reply))};
  }
  if (calls(command, historic::kSpring7Renew, call) && call.keys.size() == 1)
    return {effect(Function::store_extend, key_of(call.keys[0]), kOfTheProcess, is_one(reply))};
  return spring_effects(command, reply);
}

}  // namespace

std::vector<LockKind> historic_lock_kinds() {
  return {
      {.name = "spring-registry",
       .about = "Spring Integration's RedisLockRegistry 5.x (obtain script, polling, GET and UNLINK), as "
                "published",
       .historic = true,
       .reentrant = true,
       .registry = true,
       .lease = historic::SpringRegistryOptions().expire_after,
       .make = make_spring,
       .read_effects = spring_effects},
      {.name = "spring-registry-7",
       .about = "the same in 7.2: unlock by one script, renewal by a scheduler, which re-entry starts anew",
       .historic = true,
       .reentrant = true,
       .registry = true,
       .lease = historic::SpringRegistry7Options().expire_after,
       .make = make_spring_7<false>,
       .read_effects = spring_7_effects},
      {.name = "spring-registry-7-pub-sub",
       .about = "the same with RedisLockType.PUB_SUB_LOCK: waiters sleep until a message comes",
       .historic = true,
       .reentrant = true,
       .registry = true,
       .lease = historic::SpringRegistry7Options().expire_after,
       .make = make_spring_7<true>,
       .read_effects = spring_7_effects},
      {.name = "annotation",
       .about = "a method annotation (SET EX NX, polling for 5 s, GET and DEL), as published",
       .historic = true,
       .lease = kAnnotation.expired_time,
       .wait_timeout = kAnnotation.timeout_for_lock,
       .make = make_annotation,
       .read_effects = annotation_effects},
      {.name = "annotation-renewing",
       .about = "the same, renewed by key every 2 s by a scheduler that unlock does not tell",
       .historic = true,
       .lease = kAnnotation.expired_time,
       .wait_timeout = kAnnotation.timeout_for_lock,
       .make = make_annotation_renewing,
       .read_effects = annotation_effects},
      {.name = "lock-interface",
       .about = "hand-written Lock (SET NX PX, polling every 100 ms, compare-and-delete), as published",
       .historic = true,
       .make = make_space<historic::LockInterface>,
       .read_effects = value_effects},
      {.name = "lock-interface-reentrant",
       .about = "the same, reentrant by a thread-local count and a JSON value of thread id and count",
       .historic = true,
       .reentrant = true,
       .make = make_reentrant_interface,
       .read_effects = reentrant_interface_effects},
      {.name = "lock-interface-fair",
       .about = "the same, fair by a list: each attempt checks whether it is its turn",
       .historic = true,
       .fair = true,
       .make = make_space<historic::LockInterfaceFair>,
       .read_effects = value_effects},
      {.name = "lock-interface-watchdog-thread-local",
       .about =
           "the same with a watchdog that asks its own thread for the UUID, and never renews (a reading)",
       .historic = true,
       .make = make_space<historic::LockInterfaceWatchdogThreadLocal>,
       .read_effects = value_effects},
      {.name = "lock-interface-watchdog-blind",
       .about = "the same with a watchdog that renews the key if it is there, whoever has it (a reading)",
       .historic = true,
       .make = make_space<historic::LockInterfaceWatchdogBlind>,
       .read_effects = watchdog_effects},
      {.name = "get-del-unlock",
       .about = "SET NX PX with the older unlock: GET, compare, DEL as two commands",
       .historic = true,
       .make = make_space<historic::GetDelUnlock>,
       .read_effects = value_effects},
      {.name = "setnx-expire",
       .about = "SETNX, then EXPIRE as a second command; DEL",
       .historic = true,
       .make = make_space<historic::SetnxExpire>,
       .read_effects = value_effects},
      {.name = "fencing-incr",
       .about = "SET NX PX, and a token from INCR of a counter in the same Redis",
       .historic = true,
       .tokens = true,
       .make = make_space<historic::FencingIncr>,
       .read_effects = value_effects},
  };
}

}  // namespace holdfast::sim
