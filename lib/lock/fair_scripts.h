// What the fair lock says to Redis: HASH <key> { owner: 1 } as the reentrant lock; ZSET
// "holdfast:fair:queue:{key}" of owners by ticket; ZSET "holdfast:fair:patience:{key}" of owners by the
// server's time in ms until which they count as alive; messages on "holdfast:fair:channel:{key}".
#pragma once

#include <string>

#include "wire.h"

namespace holdfast {

extern const redis::Script kFairAcquire;
extern const redis::Script kFairRelease;
extern const redis::Script kFairForce;

// When the owner has to ask, by the message of a release: Wire::heard.
Duration heard_on_fair_channel(std::string_view message, std::string_view owner);

Wire fair_wire(const std::string& key, bool fencing);

}  // namespace holdfast
