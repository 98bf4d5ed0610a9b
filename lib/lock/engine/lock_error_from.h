// From what the Redis client throws to what a lock throws.
#pragma once

#include <string>

#include "lib/redis/error.h"

namespace holdfast {

// Throws Rejected, Unsupported or Unavailable for `error`, naming what was tried with which key.
[[noreturn]] void throw_lock_error(const redis::Error& error, const std::string& key, bool may_have_executed);

}  // namespace holdfast
