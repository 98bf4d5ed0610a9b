// What the read-write lock says to Redis: HASH <key> { owner: 1 } of the writer as the reentrant lock; ZSET
// "holdfast:rw:readers:{key}" of readers by the end of their lease; for the fair one the ZSETs
// "holdfast:rw:queue:{key}", "...:writers:...", "...:patience:..."; messages on "holdfast:rw:channel:{key}".
// Details in the scripts' heads.
#pragma once

#include <string>
#include <string_view>

#include "lib/lock/engine/wire.h"

namespace holdfast {

extern const redis::Script kReadWriteAcquire;
extern const redis::Script kReadWriteRelease;
extern const redis::Script kReadWriteRenew;
extern const redis::Script kReadWriteDowngrade;
extern const redis::Script kReadWriteForce;

enum class Side { read, write };
// When the owner has to ask, by a message of the fair one's release: Wire::heard.
Duration heard_on_read_write_channel(std::string_view message, std::string_view owner);
Wire read_write_wire(const std::string& key, Side side, bool fair, bool fencing);

}  // namespace holdfast
