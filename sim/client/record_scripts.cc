#include "sim/client/record_scripts.h"

#include <charconv>
#include <string>
#include <utility>

#include "lib/lock/read_write/read_write_scripts.h"
#include "lib/lock/reentrant/reentrant_scripts.h"
#include "lib/lock/semaphore/semaphore_scripts.h"
#include "lib/lock/store/sharded_scripts.h"
#include "lib/lock/store/survivor_scripts.h"

namespace holdfast::sim {
namespace {

using checker::Function;
using redis::Reply;
using Type = Reply::Type;

// A release that hands over: a number, or a list of that number and the new holders.
Told number_or_list(const Reply& answer) {
  return answer.type == Type::array ? first_of_list(answer) : one_or_zero(answer);
}

// reentrant_release, redisson_release: each is an owner.
std::vector<NewHolder> owners_behind(const Reply& answer) {
  std::vector<NewHolder> holders;
  for (std::size_t i = 1; i < answer.items.size(); ++i) holders.push_back({.record = answer.items[i].text});
  return holders;
}

// semaphore_release: each is an owner and how many permits it takes.
std::vector<NewHolder> owners_and_permits(const Reply& answer) {
  std::vector<NewHolder> holders;
  for (std::size_t i = 1; i + 1 < answer.items.size(); i += 2) {
    holders.push_back(
        {.record = answer.items[i].text, .permits = static_cast<std::uint32_t>(answer.items[i + 1].integer)});
  }
  return holders;
}

// SET NX PX: "OK", or nil.
Told ok_or_nil(const Reply& answer) {
  if (answer.is_nil() || answer.is_error()) return Told::nothing;
  return is_ok(answer) ? Told::done : Told::not_understood;
}

// read_write_release: each is an owner and "read" or "write".
std::vector<NewHolder> owners_and_modes(const Reply& answer) {
  std::vector<NewHolder> holders;
  for (std::size_t i = 1; i + 1 < answer.items.size(); i += 2) {
    holders.push_back(
        {.record = answer.items[i].text, .mode = answer.items[i + 1].text == "read" ? "read" : ""});
  }
  return holders;
}

std::string_view read_write_mode(const Strings& args) { return args[2] == "read" ? "read" : ""; }
std::string_view read_mode(const Strings&) { return "read"; }

std::uint32_t permits_taken(const Strings& args) {
  std::uint32_t permits = 0;
  std::from_chars(args[3].data(), args[3].data() + args[3].size(), permits);
  return permits;
}

const RecordScript kReentrantScripts[] = {
    {.script = &kReentrantAcquire, .f = Function::store_grant, .read = first_of_list, .arguments = 2},
    {.script = &kReentrantRelease,
     .f = Function::store_remove,
     .read = number_or_list,
     .next = owners_behind},
    {.script = &kReentrantRenew, .f = Function::store_extend, .read = one_or_zero, .arguments = 2},
};
const RecordScript kRedissonScripts[] = {
    {.script = &kRedissonAcquire, .f = Function::store_grant, .read = first_of_list, .arguments = 2},
    {.script = &kRedissonRelease, .f = Function::store_remove, .read = number_or_list, .next = owners_behind},
    {.script = &kRedissonRenew, .f = Function::store_extend, .read = one_or_zero, .arguments = 2},
};
const RecordScript kReadWriteScripts[] = {
    {.script = &kReadWriteAcquire,
     .f = Function::store_grant,
     .read = first_of_list,
     .arguments = 3,
     .mode = read_write_mode},
    {.script = &kReadWriteRelease,  // a downgrade
     .f = Function::store_grant,
     .read = number_or_list,
     .arguments = 3,
     .mode = read_mode,
     .next = owners_and_modes},
    {.script = &kReadWriteRelease,
     .f = Function::store_remove,
     .read = number_or_list,
     .next = owners_and_modes},
    {.script = &kReadWriteRenew,
     .f = Function::store_extend,
     .read = one_or_zero,
     .arguments = 2,
     .keys_of_each = 2},
};
const RecordScript kSemaphoreScripts[] = {
    {.script = &kSemaphoreAcquire,
     .f = Function::store_grant,
     .read = first_of_list,
     .arguments = 4,
     .permits = permits_taken},
    {.script = &kSemaphoreRelease,
     .f = Function::store_remove,
     .read = number_or_list,
     .next = owners_and_permits},
    {.script = &kSemaphoreRenew,
     .f = Function::store_extend,
     .read = one_or_zero,
     .arguments = 2,
     .keys_of_each = 2},
};

StoreEffect effect_of(Function f, std::string_view key, std::string_view record, Told told) {
  StoreEffect made = effect(f, key, record, told == Told::done);
  made.understood = told != Told::not_understood;
  return made;
}

// A list in braces would be copied from.
std::vector<StoreEffect> one_of(StoreEffect effect) {
  std::vector<StoreEffect> effects;
  effects.push_back(std::move(effect));
  return effects;
}

// The answers for all locks of a renewal come in one list; an error is one for all.
std::vector<StoreEffect> extensions(const RecordScript& does, const ScriptCall& call, const Reply& reply) {
  std::vector<StoreEffect> effects;
  if (call.keys.size() != does.keys_of_each * (call.args.size() - 1)) return effects;
  for (std::size_t i = 0; i + 1 < call.args.size(); ++i) {
    const Reply& answer = reply.type == Type::array && i < reply.items.size() ? reply.items[i] : reply;
    // The text of an error that concerns one lock.
    const Told told = answer.type == Type::bulk ? Told::nothing : does.read(answer);
    effects.push_back(effect_of(does.f, call.keys[does.keys_of_each * i], call.args[i + 1], told));
  }
  return effects;
}

}  // namespace

Told one_or_zero(const Reply& answer) {
  if (answer.is_error()) return Told::nothing;
  if (answer.type != Type::integer || answer.integer < 0 || answer.integer > 1) return Told::not_understood;
  return answer.integer == 1 ? Told::done : Told::nothing;
}

Told first_of_list(const Reply& answer) {
  if (answer.is_error()) return Told::nothing;
  if (answer.type != Type::array || answer.items.empty()) return Told::not_understood;
  return one_or_zero(answer.items[0]);
}

std::vector<StoreEffect> effects_by(std::span<const RecordScript> scripts, bool grants_by_set,
                                    const Command& command, const Reply& reply) {
  if (grants_by_set && command.size() == 6 && is(command[0], "SET") && is(command[3], "NX") &&
      is(command[4], "PX")) {
    return one_of(effect_of(Function::store_grant, command[1], command[2], ok_or_nil(reply)));
  }
  ScriptCall call;
  for (const RecordScript& does : scripts) {
    if (!calls(command, *does.script, call) && !calls(command, sharded(*does.script), call)) continue;
    if (call.keys.empty()) return {};
    if (call.args.size() < does.arguments) continue;  // it may be another use of that script
    if (does.f == Function::store_extend) return extensions(does, call, reply);
    std::vector<StoreEffect> effects =
        one_of(effect_of(does.f, call.keys[0], call.args[0], does.read(reply)));
    if (does.mode != nullptr) effects[0].mode = does.mode(call.args);
    if (does.permits != nullptr) effects[0].permits = does.permits(call.args);
    if (does.next != nullptr) {  // at least one, which is nobody where the answer names none
      std::vector<NewHolder> holders = does.next(reply);
      if (holders.empty()) holders.emplace_back();
      for (const NewHolder& next : holders) {
        effects.push_back(effect(Function::store_grant, call.keys[0], next.record, !next.record.empty()));
        effects.back().handed_over = true;
        effects.back().mode = next.mode;
        effects.back().permits = next.permits;
      }
    }
    return effects;
  }
  return {};
}

std::vector<StoreEffect> reentrant_effects(const Command& command, const Reply& reply) {
  return effects_by(kReentrantScripts, true, command, reply);
}
std::vector<StoreEffect> survivor_effects(const Command& command, const Reply& reply) {
  const auto plain = [](const Command& command, const Reply& reply) {
    std::vector<StoreEffect> effects = reentrant_effects(command, reply);
    return effects.empty() ? read_write_effects(command, reply) : effects;
  };
  ScriptCall call;
  for (const GuardedScript& each : guarded_scripts()) {
    if (!calls(command, *each.guarded, call)) continue;
    if (call.keys.empty() || call.args.size() < 3 || call.args.back() == "look") return {};
    // As the lock without a guard would have sent it, and been answered.
    call.keys.pop_back();
    call.args.resize(call.args.size() - 2);
    const std::string count = std::to_string(call.keys.size());
    Command inner{"EVALSHA", each.plain->sha1, count};
    inner.insert(inner.end(), call.keys.begin(), call.keys.end());
    inner.insert(inner.end(), call.args.begin(), call.args.end());
    return plain(inner, reply.items.size() == 3 ? reply.items[0] : reply);
  }
  return plain(command, reply);
}
std::vector<StoreEffect> redisson_effects(const Command& command, const Reply& reply) {
  return effects_by(kRedissonScripts, false, command, reply);
}
std::vector<StoreEffect> read_write_effects(const Command& command, const Reply& reply) {
  return effects_by(kReadWriteScripts, false, command, reply);
}
std::vector<StoreEffect> semaphore_effects(const Command& command, const Reply& reply) {
  return effects_by(kSemaphoreScripts, false, command, reply);
}

}  // namespace holdfast::sim
