// The shortest scripts that keep one promise of a kind, with nothing beside it: no queue to stand in, no
// hand-over, no second asking. What a server takes for them no lock of that kind can save.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "lib/redis/client.h"
#include "lib/redis/script.h"

namespace holdfast::tools {

struct ShortestScripts {
  std::string_view kind;  // of sim::LockKind
  const redis::Script& acquire;
  const redis::Script& release;
};

// Null: that kind acquires by a plain SET, or by many requests.
const ShortestScripts* find_shortest(std::string_view kind);

// One lock by these scripts, for one caller. Thread safety: none.
class ShortestLock {
 public:
  ShortestLock(const ShortestScripts& scripts, redis::Client& client, const std::string& key,
               std::string owner, Duration lease);

  // [parks] One request each. Throws redis::Error, and std::runtime_error when it was refused.
  void acquire();
  void release();

 private:
  const ShortestScripts& scripts_;
  redis::Client& client_;
  const std::array<std::string, 2> keys_;
  const std::array<std::string, 3> args_;
};

}  // namespace holdfast::tools
