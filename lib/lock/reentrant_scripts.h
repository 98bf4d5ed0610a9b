// What the reentrant lock says to Redis: its scripts (scripts/*.lua) and its names. The layout is Redisson's,
// so that processes on either library exclude each other: HASH <key> { "<uuid>:<number>": 1 } with the lease
// as its PTTL, and the message "0" on the lock's channel at release.
#pragma once

#include <string>

#include "../redis/script.h"

namespace holdfast {

extern const redis::Script kReentrantAcquire;
extern const redis::Script kReentrantRelease;
extern const redis::Script kReentrantRenew;

// "redisson_lock__channel:{key}"
std::string reentrant_channel(const std::string& key);

}  // namespace holdfast
