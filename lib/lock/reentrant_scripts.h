// What the reentrant lock says to Redis: its scripts (scripts/*.lua) and its names. The layout is Redisson's,
// so that processes on either library exclude each other: HASH <key> { "<uuid>:<number>": 1 } with the lease
// as its PTTL, and the message "0" on the lock's channel at release.
//
// With fencing a counter beside it, "holdfast:token:{key}", gives each grant a greater number than any
// before: the last one plus one, or the server's time in microseconds if that is more. So tokens go on rising
// when a failover or a restart lost the counter, as long as the servers' clocks differ by less than the time
// between.
#pragma once

#include <string>

#include "../redis/script.h"
#include "wire.h"

namespace holdfast {

extern const redis::Script kReentrantAcquire;
extern const redis::Script kReentrantAcquireFenced;
extern const redis::Script kReentrantRelease;
extern const redis::Script kReentrantRenew;
extern const redis::Script kReentrantForce;

// "redisson_lock__channel:{key}"
std::string reentrant_channel(const std::string& key);
// "holdfast:token:{key}"
std::string token_key(const std::string& key);
// PREFIX:{key}, or PREFIX:key when the key has a hash tag of its own: in the same hash slot as the key.
std::string beside_key(const std::string& prefix, const std::string& key);

Wire reentrant_wire(const std::string& key, bool fencing);

}  // namespace holdfast
