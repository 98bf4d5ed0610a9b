// Scripts of locks with the survivor's guard around them (survivor_guard.lua), put together at build time.
#pragma once

#include <span>

#include "lib/redis/script.h"

namespace holdfast {

// `script`: an acquire or a renewal that has one. Throws std::logic_error: it has none.
const redis::Script& guarded(const redis::Script& script);
struct GuardedScript {
  const redis::Script* plain;    // as the lock without a guard sends it
  const redis::Script* guarded;  // with the guard around it
};
std::span<const GuardedScript> guarded_scripts() noexcept;
// Those that have one.
bool has_guard(const redis::Script& script) noexcept;

}  // namespace holdfast
