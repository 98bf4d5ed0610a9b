// What the reentrant and the fair lock say to Redis: their scripts and names. STRING <key>, its owner
// "<uuid>:<number>", with the lease as its PTTL; ZSET "holdfast:fair:queue:{key}" of owners that wait, by
// ticket; ZSET "holdfast:fair:patience:{key}" of the same owners, by the server's time in ms until which they
// count as alive. A release makes the first of them that listens the holder and tells it (wake_channel.h).
// The reentrant lock's first request is a plain SET NX PX, which costs the server a third of a script call;
// its script is sent only after a refusal, or when the outcome of the SET is not known.
//
// Names beside a key: key_names.h.
//
// In Redisson's layout (redisson_lock.h): HASH <key> { owner: 1 }, and the channel
// "redisson_lock__channel:{key}"; beside that, of which Redisson knows nothing, a queue as above,
// "holdfast:redisson:queue:{key}" and "...:patience:{key}", and how often in a row it was ours, STRING
// "holdfast:redisson:in-a-row:{key}".
//
// With fencing a counter beside it, "holdfast:token:{key}", gives each grant a greater number than any
// before: the last one plus one, or the server's time in microseconds if that is more. So tokens go on rising
// when a failover or a restart lost the counter, as long as the servers' clocks differ by less than the time
// between.
#pragma once

#include <string>

#include "lib/lock/api/lock.h"
#include "lib/lock/engine/wire.h"
#include "lib/redis/script.h"

namespace holdfast {

extern const redis::Script kReentrantAcquire;
extern const redis::Script kReentrantRelease;
extern const redis::Script kReentrantWithdraw;
extern const redis::Script kReentrantRenew;
extern const redis::Script kReentrantAdopt;
extern const redis::Script kRedissonAcquire;
extern const redis::Script kRedissonRelease;
extern const redis::Script kRedissonRenew;
extern const redis::Script kRedissonAdopt;

// Of the options they need what is said of tokens.
Wire reentrant_wire(const std::string& key, const LockOptions& options);
Wire fair_wire(const std::string& key, const LockOptions& options);               // the same, but in turn
Wire reentrant_wire_polling(const std::string& key, const LockOptions& options);  // the same, without a queue
Wire redisson_wire(const std::string& key);  // it has no place for tokens

}  // namespace holdfast
