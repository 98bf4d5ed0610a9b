// SentinelServer: an embedded Sentinel as a process on the ports, started as RedisServer is
// (sim/redis/server.h).
#pragma once

#include <cstddef>
#include <memory>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/sentinel/options.h"

namespace holdfast::sim {

class SentinelServer {
 public:
  // Binds the port (std::system_error if it cannot).
  SentinelServer(Runtime& runtime, Network& network, embedded::SentinelOptions options);
  ~SentinelServer();

  Endpoint endpoint() const;
  void serve();  // [parks] until stop() or SHUTDOWN
  void stop();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::sim
