// The locks that the harness can drive: `holdfast list locks`. One more: a row at the end, a space that makes
// it, and a function that reads its commands off the wire.
#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include "lib/historic/lock_interface.h"
#include "lib/lock/reentrant_lock.h"
#include "lib/lock/reentrant_scripts.h"
#include "sim/client/lock_kind.h"

namespace holdfast::sim {
namespace {

using checker::Function;
using Command = std::vector<std::string_view>;
using Strings = std::vector<std::string_view>;

// --- spaces
// ---------------------------------------------------------------------------------------------------

class ReentrantSpace final : public LockSpace {
 public:
  explicit ReentrantSpace(const LockSpaceOptions& options) : locks_(options.client, options.lock) {}
  Lock& obtain(const std::string& key) override {
    std::shared_ptr<ReentrantLock>& lock = used_[key];
    if (!lock) lock = locks_.obtain(key);
    return *lock;
  }

 private:
  ReentrantLocks locks_;
  std::map<std::string, std::shared_ptr<ReentrantLock>> used_;
};

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

template <class Space>
std::unique_ptr<LockSpace> make_space(const LockSpaceOptions& options) {
  return std::make_unique<Space>(options);
}

// --- commands on the wire
// -------------------------------------------------------------------------------------

bool is(std::string_view word, std::string_view upper) {
  return std::equal(word.begin(), word.end(), upper.begin(), upper.end(), [](char a, char b) {
    return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b;
  });
}

struct ScriptCall {
  Strings keys, args;
};

// The keys and arguments when `command` runs `script`.
bool calls(const Command& command, const redis::Script& script, ScriptCall& call) {
  if (command.size() < 3) return false;
  const bool by_sha = is(command[0], "EVALSHA") && command[1] == script.sha1;
  const bool by_text = is(command[0], "EVAL") && command[1] == script.text;
  if (!by_sha && !by_text) return false;
  std::size_t keys = 0;
  const auto parsed = std::from_chars(command[2].data(), command[2].data() + command[2].size(), keys);
  if (parsed.ec != std::errc() || keys > command.size() - 3) return false;
  const auto first = command.begin() + 3, middle = first + static_cast<std::ptrdiff_t>(keys);
  call = {Strings(first, middle), Strings(middle, command.end())};
  return true;
}

bool is_one(const redis::Reply& reply) {
  return reply.type == redis::Reply::Type::integer && reply.integer == 1;
}

StoreEffect effect(Function f, std::string_view key, std::string_view record, bool took_effect) {
  return {.f = f, .key = std::string(key), .record = std::string(record), .took_effect = took_effect};
}

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

const std::vector<LockKind>& all_lock_kinds() {
  using Unlock = historic::LockInterface::Unlock;
  static const std::vector<LockKind> kinds = {
      {.name = "reentrant",
       .about = "exclusive and reentrant, in Redisson's layout; watchdog, pub/sub wake-up, told loss",
       .reentrant = true,
       .promises_validity = true,
       .make = make_space<ReentrantSpace>,
       .read_effects = reentrant_effects},
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
  return kinds;
}

const LockKind* find_lock_kind(std::string_view name) {
  for (const LockKind& kind : all_lock_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace holdfast::sim
