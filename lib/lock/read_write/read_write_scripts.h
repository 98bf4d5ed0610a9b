// What the read-write lock says to Redis: STRING <key>, "<owner> write" of the writer, or "readers" while
// some are inside (so that no lock of another kind is granted beside them), with the lease as its PTTL; ZSET
// "holdfast:rw:readers:{key}" of readers by the end of their lease. Who waits: ZSETs "holdfast:rw:line:{key}"
// by ticket, "holdfast:rw:line-writers:{key}" the writers among them, and "holdfast:rw:line-patience:{key}"
// by the time until which they count as alive. A release makes the first of them the holder, or a batch of
// readers the holders, and tells them (wake_channel.h). Details in the scripts' heads.
//
// Processes of the version before may be at work beside this one. They write the writer's owner alone,
// queue elsewhere and listen to "holdfast:rw:channel:{key}". Neither version is granted what the other one
// holds; but neither calls the other's waiters, except where a release leaves the lock free: then it tells
// those of the version before. While they hold it, this one asks twice a second.
#pragma once

#include <string>

#include "lib/lock/engine/wire.h"

namespace holdfast {

extern const redis::Script kReadWriteAcquire;
extern const redis::Script kReadWriteRelease;  // forced and downgrade, too
extern const redis::Script kReadWriteRenew;
extern const redis::Script kReadWriteAdopt;

enum class Side { read, write };
Wire read_write_wire(const std::string& key, Side side, bool fair, const LockOptions& options);

}  // namespace holdfast
