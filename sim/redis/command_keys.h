// Which words of a request are keys, and what becomes of them.
#pragma once

#include <string_view>
#include <vector>

#include "sim/redis/command.h"

namespace holdfast::sim::embedded {

struct KeyUse {
  std::size_t at;          // the word
  std::string_view flags;  // as COMMAND GETKEYSANDFLAGS says them, with spaces between
};

// Keys of this command can stand anywhere: their number is an argument, or options name some.
bool has_movable_keys(const CommandSpec& spec);
// The command has keys in some request.
bool may_have_keys(const CommandSpec& spec);
// A request without keys is none the worse (EVAL).
bool keys_are_optional(const CommandSpec& spec);
// The keys of a request that has the right number of words. False: they make no sense.
bool keys_of(const CommandSpec& spec, Args argv, std::vector<KeyUse>& keys);

}  // namespace holdfast::sim::embedded
