// What is held on a server, read from the records that locks leave there: for `holdfast locks`,
// `holdfast unlock` and `holdfast survivor status`. Nothing is written, and no command takes long: SCAN in
// small steps, then a few commands for each key, of which no reply is long. So it is no picture of one
// moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/redis/client.h"

namespace holdfast::tools {

// One hold: of a semaphore and of readers there are several under one key.
struct HeldLock {
  // What the record says. exclusive: `reentrant`, `non-reentrant`, `fair`, `spin`, `fenced` and the servers
  // of a `redlock` leave the same one. semaphore: `permit-semaphore`, too. latch: its count is not zero;
  // nobody holds it.
  enum class Kind { exclusive, write, read, semaphore, redisson, latch };

  std::string key;
  Kind kind{};
  std::string owner = {};                              // Lock::acquisition() of the holder; latch: ""
  std::int64_t permits = 1;                            // semaphore; latch: what is left to count down
  std::optional<std::int64_t> left_ms = std::nullopt;  // of its lease; nullopt: it has none
  // The last fencing token of the key: that of this hold, where all clients of the key draw tokens.
  std::optional<std::uint64_t> token = std::nullopt;
  // By the server's clock, in ms since 1970. Known from the token, which is the time of the grant where it is
  // drawn first; of shared holds it is not known.
  std::optional<std::int64_t> since_ms = std::nullopt;
  std::uint64_t waiters = 0;  // for this key, alive
};

std::string to_string(HeldLock::Kind kind);
// "1500ms", "599s" (what is long in whole seconds), or "no lease".
std::string left_text(const HeldLock& lock);

struct HeldLocks {
  std::vector<HeldLock> locks;  // in the order of their keys
  bool all = true;              // false: there are more
};

// [parks] Of the keys that match `pattern` (as SCAN takes it), `most` holds and a few more at most. Throws
// redis::Error.
HeldLocks held_on(redis::Client& client, const std::string& pattern, std::size_t most);
// [parks] Of that key alone.
std::vector<HeldLock> held_under(redis::Client& client, const std::string& key);

}  // namespace holdfast::tools
