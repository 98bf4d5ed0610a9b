#include "lib/lock/store/survivor_scripts.h"

#include <stdexcept>
#include <string>

#include "generated/lock_scripts.h"

namespace holdfast {
namespace {

constexpr GuardedScript kGuarded[] = {
    {&lock_scripts::reentrant_acquire, &lock_scripts::survivor_reentrant_acquire},
    {&lock_scripts::reentrant_renew, &lock_scripts::survivor_reentrant_renew},
    {&lock_scripts::read_write_acquire, &lock_scripts::survivor_read_write_acquire},
    {&lock_scripts::read_write_renew, &lock_scripts::survivor_read_write_renew},
};

const redis::Script* guarded_or_null(const redis::Script& script) noexcept {
  for (const GuardedScript& each : kGuarded) {
    if (each.plain->sha1 == script.sha1) return each.guarded;
  }
  return nullptr;
}

}  // namespace

std::span<const GuardedScript> guarded_scripts() noexcept { return kGuarded; }

const redis::Script& guarded(const redis::Script& script) {
  if (const redis::Script* const found = guarded_or_null(script)) return *found;
  throw std::logic_error("no guard was made for the script " + std::string(script.name));
}

bool has_guard(const redis::Script& script) noexcept { return guarded_or_null(script) != nullptr; }

}  // namespace holdfast
