// What the fair lock says to Redis: STRING <key>, its owner, as the reentrant lock; ZSET
// "holdfast:fair:queue:{key}" of owners by ticket; ZSET "holdfast:fair:patience:{key}" of owners by the
// server's time in ms until which they count as alive. A release makes the head the holder and tells it
// (wake_channel.h).
#pragma once

#include <string>

#include "lib/lock/engine/wire.h"

namespace holdfast {

extern const redis::Script kFairAcquire;
extern const redis::Script kFairRelease;

Wire fair_wire(const std::string& key, bool fencing);

}  // namespace holdfast
