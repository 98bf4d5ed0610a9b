// The way of keys from one server to another, as MIGRATE of redis-server goes it.
#pragma once

#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/engine.h"

namespace holdfast::sim::embedded {

struct Carried {
  std::vector<bool> arrived;  // by key; shorter where the connection was lost
  std::string reply;          // what MIGRATE answers, framed
};

// [parks] Connects, sends all, and reads every answer, each step for `patience` at most. A connection that is
// lost before the first answer is made anew once.
Carried carry(Runtime& runtime, Network& network, const Transfer& transfer);

}  // namespace holdfast::sim::embedded
