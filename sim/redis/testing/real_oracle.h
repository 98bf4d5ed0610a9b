// The real side of the oracle: one redis-server (a second one for cases with a replica) whose clocks stand
// still but for what a case lets pass. One server serves many cases: it is put back in order before each.
#pragma once

#include <memory>

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/server_connection.h"
#include "lib/testing/server/temporary_folder.h"
#include "sim/cluster/clocked_redis.h"
#include "sim/redis/testing/oracle_player.h"

namespace holdfast::sim::oracle {

class RealOracle final : public Target {
 public:
  RealOracle();  // throws MissingServer

  // Plays the steps from `start` on the wall clock.
  Transcript play_from(WallTime start, const std::vector<std::string>& steps, bool with_replica = false,
                       int protocol = 2);

  Runtime& runtime() override { return runtime_; }
  Network& network() override { return network_; }
  Endpoint server() override { return first_->endpoint(); }
  Endpoint second_server() override { return second_ ? second_->endpoint() : Endpoint{}; }
  WallTime wall() override { return first_->clock().wall(); }
  void advance(Duration by) override;
  void nudge() override;

 private:
  void reset(WallTime start);
  void start_second(WallTime start);
  // After this the servers' periodic work that was due has been done: a server looks at its timers in the
  // same turn in which it reads a command, before it sends the reply.
  void settle();
  redis::Reply control(std::initializer_list<std::string> command);

  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
  std::unique_ptr<ClockedRedis> first_, second_;
  std::unique_ptr<ServerConnection> control_, second_control_;
  int seconds_ = 0;
};

}  // namespace holdfast::sim::oracle
