// What the files with rows of lock kinds share: making a space, and reading commands off the wire.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lib/redis/reply.h"
#include "lib/redis/script.h"
#include "sim/client/lock_kind.h"

namespace holdfast::sim {

// The rows of each file, in the order of `holdfast list locks`.
std::vector<LockKind> hardened_lock_kinds();
std::vector<LockKind> composite_lock_kinds();
std::vector<LockKind> historic_lock_kinds();
std::vector<LockKind> historic_redisson_kinds();

using Command = std::vector<std::string_view>;
using Strings = std::vector<std::string_view>;

template <class Space>
std::unique_ptr<LockSpace> make_space(const LockSpaceOptions& options) {
  return std::make_unique<Space>(options);
}

// `word` is the command `upper`, in whatever case it was sent.
bool is(std::string_view word, std::string_view upper);
struct ScriptCall {
  Strings keys, args;
};

// The keys and arguments when `command` runs `script`, by its digest or by its text.
bool calls(const Command& command, const redis::Script& script, ScriptCall& call);

bool is_one(const redis::Reply& reply);
bool is_ok(const redis::Reply& reply);

StoreEffect effect(checker::Function f, std::string_view key, std::string_view record, bool took_effect);

// What the commands of the locks of lib/lock do.
std::vector<StoreEffect> hardened_effects(const Command& command, const redis::Reply& reply);

}  // namespace holdfast::sim
