// Hash slots of Redis Cluster: which of 16,384 a key lies in, and which keys a command has.
// After https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ (key distribution model,
// hash tags).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lib/redis/command.h"

namespace holdfast::redis {

inline constexpr std::size_t kHashSlots = 16384;

// 0 .. 16383.
std::uint16_t hash_slot(std::string_view key);

// What is hashed in place of the key: what stands between its first '{' and the first '}' behind that; "": no
// tag is in force, and all of it is hashed.
std::string_view hash_tag(std::string_view key);

// Where a command has to go.
struct CommandSlot {
  std::optional<std::uint16_t> slot =
      std::nullopt;      // of its keys, of the channel of a PUBLISH; none: anywhere
  bool several = false;  // its keys lie in different slots: no node takes it
};

// By the places of its keys: of EVAL and its kin, of commands with many keys, of those without one. Any other
// command is taken to have its key behind its name. The server looks once more.
CommandSlot slot_of(const CommandView& command);

}  // namespace holdfast::redis
