// What the count-down latch says to Redis: HASH <key> { left: count, by: id of the request that set it,
// opened: that of the count before }; SET "holdfast:latch:counted:{key}" of the ids that counted down, and
// "holdfast:latch:counted-before:{key}" of those of the count before; messages, what is left, on
// "holdfast:latch:channel:{key}".
#pragma once

#include "lib/redis/script.h"

namespace holdfast {

extern const redis::Script kLatchSet;
extern const redis::Script kLatchCountDown;

}  // namespace holdfast
