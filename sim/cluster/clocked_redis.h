// ClockedRedis: a real `redis-server` whose clocks the harness steps and freezes (clock_shim.h).
// The shim makes each look at the clock a system call, and a server looks several times a command: do not
// measure with it.
#pragma once

#include "lib/testing/server/redis_process.h"
#include "sim/cluster/clock_control.h"

namespace holdfast::sim {

struct ClockOfRedis {
  explicit ClockOfRedis(std::string file) : clock_control(std::move(file)) {}
  ClockControl clock_control;  // there before the process that obeys it
};

class ClockedRedis : private ClockOfRedis, public RedisProcess {
 public:
  // As RedisProcess. The file of its clocks is `clock` in the server's folder.
  ClockedRedis(Runtime& runtime, Network& network, RedisProcessOptions options);

  ClockControl& clock() { return clock_control; }
  const ClockControl& clock() const { return clock_control; }
};

}  // namespace holdfast::sim
