// What the reentrant lock says to Redis: its scripts and its names. STRING <key>, its owner
// "<uuid>:<number>", with the lease as its PTTL; ZSET "holdfast:waiting:{key}" of owners that wait, by the
// server's time in ms when they asked first. A release calls the first of them (wake_channel.h) and leaves
// "<owner> called" in <key> for 100 ms: nobody holds it, but it is refused to all other processes.
// The first request of an acquire is a plain SET NX PX, which costs the server a third of a script call; the
// script is sent only after a refusal, or when the outcome of the SET is not known.
//
// In Redisson's layout (redisson_lock.h): HASH <key> { owner: 1 }, and the channel
// "redisson_lock__channel:{key}".
//
// With fencing a counter beside it, "holdfast:token:{key}", gives each grant a greater number than any
// before: the last one plus one, or the server's time in microseconds if that is more. So tokens go on rising
// when a failover or a restart lost the counter, as long as the servers' clocks differ by less than the time
// between.
#pragma once

#include <string>

#include "lib/lock/engine/wire.h"
#include "lib/redis/script.h"

namespace holdfast {

extern const redis::Script kReentrantAcquire;
extern const redis::Script kReentrantRelease;
extern const redis::Script kReentrantRenew;
extern const redis::Script kRedissonAcquire;
extern const redis::Script kRedissonRelease;
extern const redis::Script kRedissonRenew;
extern const redis::Script kRedissonForce;

// "holdfast:waiting:{key}"
std::string waiting_key(const std::string& key);
// "holdfast:token:{key}"
std::string token_key(const std::string& key);
// PREFIX:{key}, or PREFIX:key when the key has a hash tag of its own: in the same hash slot as the key.
std::string beside_key(const std::string& prefix, const std::string& key);

Wire reentrant_wire(const std::string& key, bool fencing);
Wire reentrant_wire_polling(const std::string& key, bool fencing);  // the same, but nobody is called
Wire redisson_wire(const std::string& key);                         // it has no place for tokens

}  // namespace holdfast
