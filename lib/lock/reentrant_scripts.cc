#include "reentrant_scripts.h"

#include "generated/lock_scripts.h"

namespace holdfast {

const redis::Script kReentrantAcquire = lock_scripts::reentrant_acquire;
const redis::Script kReentrantRelease = lock_scripts::reentrant_release;
const redis::Script kReentrantRenew = lock_scripts::reentrant_renew;

std::string reentrant_channel(const std::string& key) { return "redisson_lock__channel:{" + key + "}"; }

}  // namespace holdfast
