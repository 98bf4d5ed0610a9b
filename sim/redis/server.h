// RedisServer: the embedded Redis as a process on the ports: listens, serves connections, keeps time, and
// follows its primary over an ordinary connection.
//
// Start one inside a process: `RedisServer server(process.runtime(), process.network(), options);
// server.serve();` on a task of that process. It runs on fibers of either world (in the real one on real
// sockets), not on threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/redis/cluster/peer.h"
#include "sim/redis/disk.h"
#include "sim/redis/keyspace_witness.h"

namespace holdfast::sim {

struct RedisServerOptions {
  Endpoint listen;  // port 0: any free one
  embedded::PersistenceMode persistence = embedded::PersistenceMode::none;
  embedded::Disk* disk = nullptr;    // outlives the server; nullptr: nothing is kept
  Endpoint primary;                  // host "" : starts as a primary
  std::uint16_t announced_port = 0;  // what a replica tells its primary; 0: the port it listens at
  std::string announced_host = {};   // "": none, the primary takes the address that it sees
  // CONFIG REWRITE: keeps whom it follows. Not set: it has no file.
  std::function<void(const Endpoint& primary)> on_config_rewrite = {};
  std::vector<std::pair<std::string, std::string>> settings = {};  // as by CONFIG SET, in this order
  embedded::KeyspaceWitness* witness = nullptr;                    // outlives the server
  // It is a node of a Redis Cluster, and follows whom that says.
  std::optional<embedded::ClusterNodeOptions> cluster = std::nullopt;
  // It takes no more connections, and those that it had are closed; its tasks may still wait for others.
  std::function<void()> on_end = {};
  bool loads = false;  // answers LOADING until finish_loading(), as one that has much to load
};

class RedisServer {
 public:
  // Binds the port (std::system_error if it cannot) and loads the disk. Throws std::invalid_argument for a
  // setting that CONFIG SET would refuse.
  RedisServer(Runtime& runtime, Network& network, RedisServerOptions options);
  ~RedisServer();

  Endpoint endpoint() const;
  // [parks] Serves until stop() or SHUTDOWN.
  void serve();
  void stop();
  // True when this server follows a primary and is in sync with it, or follows none.
  bool ready() const;
  void finish_loading();
  void disk_is_quicker();  // a sync under way takes no longer than one that begins now

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::sim
