// The embedded side of the oracle: a fresh world for each case, with links that take no time, so that no
// virtual time passes but what a case lets pass.
#pragma once

#include <string>
#include <vector>

#include "lib/runtime/time.h"
#include "sim/redis/testing/oracle_player.h"

namespace holdfast::sim::oracle {

struct EmbeddedRun {
  WallTime start;  // the server's wall clock when the first step was taken
  Transcript transcript;
};

EmbeddedRun play_embedded(const std::vector<std::string>& steps, bool with_replica = false, int protocol = 2);

}  // namespace holdfast::sim::oracle
