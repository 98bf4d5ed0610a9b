// Takes one hold away from its owner, for `holdfast unlock`.
#pragma once

#include <string>
#include <vector>

#include "lib/redis/client.h"
#include "tools/holdfast/held_locks.h"

namespace holdfast::tools {

struct TakenAway {
  bool held = false;                      // by that owner, until now; false: nothing was changed
  std::vector<std::string> holders = {};  // whose it is now
};

// [parks] One script: compares the owner, and where it holds `lock.key` does what its own release does, so
// that the first waiters hold it and hear of it. Throws redis::Error. REQUIRES: no latch.
TakenAway take_away(redis::Client& client, const HeldLock& lock);

}  // namespace holdfast::tools
