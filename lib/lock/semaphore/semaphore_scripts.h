// What the semaphores say to Redis: ZSET <key> of owners by the end of their lease in ms of the server's
// time; HASH "holdfast:semaphore:taken:{key}" { owner: permits, used: their sum }; STRING
// "holdfast:semaphore:permits:{key}" how many there are, if that was set. Who waits: ZSETs
// "holdfast:semaphore:queue:{key}" by ticket and "holdfast:semaphore:patience:{key}" by the time until which
// they count as alive, HASH "holdfast:semaphore:wants:{key}" { owner: "<permits> <limit>" }. A release makes
// the first of them holders and tells them (wake_channel.h).
#pragma once

#include <string>

#include "lib/lock/engine/lock_context.h"
#include "lib/lock/engine/wire.h"

namespace holdfast {

extern const redis::Script kSemaphoreAcquire;
extern const redis::Script kSemaphoreRelease;
extern const redis::Script kSemaphoreWithdraw;
extern const redis::Script kSemaphoreRenew;
extern const redis::Script kSemaphoreAdopt;
extern const redis::Script kSemaphoreFree;
extern const redis::Script kSemaphoreResize;

Wire semaphore_wire(const std::string& key, int permits, const LockOptions& options);

// [parks] See Semaphore::free_permits() and set_permits().
int free_permits(LockContext& context, const Wire& wire);
void set_permits(LockContext& context, const Wire& wire, int permits);

}  // namespace holdfast
