// BenchServers: real redis-servers for measurements, and redis-benchmark beside them as a reference.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/server/redis_process.h"
#include "lib/testing/server/temporary_folder.h"

namespace holdfast::tools {

// Runs `program` to its end and returns what it printed (both outputs). Throws std::runtime_error when it
// cannot be started, runs longer than `limit`, or `interrupted` returns true; then it is killed.
std::string run_program(const std::string& program, const std::vector<std::string>& arguments, Duration limit,
                        const std::function<bool()>& interrupted = {});

struct ServerUsage {
  double sets = 0, scripts = 0;               // calls of SET; of EVALSHA and EVAL
  double received_bytes = 0, sent_bytes = 0;  // by the server
  double cpu_seconds = 0;
};

class BenchServers {
 public:
  enum class Are { independent, one_set };
  // Starts `count` servers that know nothing of each other, or of which the first is the primary of the
  // others. `settings`: more arguments of each. Throws MissingServer.
  explicit BenchServers(int count = 1, Are are = Are::independent,
                        const std::vector<std::string>& settings = {});

  const std::vector<redis::Node>& nodes() const { return nodes_; }
  std::vector<redis::Node> first() const { return {nodes_.front()}; }
  void flush();                              // empties all of them
  std::string info(std::string_view field);  // of the first: "redis_version"
  ServerUsage usage();                       // of all, since they were started
  double cpu_seconds() const;                // likewise, as the kernel counts it

  // The pairs a second that redis-benchmark makes with `in_flight` commands at a time on each of
  // `connections`: SET key v NX PX over keys most of which are free, then EVALSHA of a compare-and-delete
  // over keys that are held, combined as if they took turns. 0 when there is no redis-benchmark.
  double benchmark_pairs(int in_flight, int connections = 1, int commands = 20'000);

 private:
  static void raise_limits();  // many connections
  void follow();               // the first; returns when all do
  double benchmark(const std::vector<std::string>& flags, const std::vector<std::string>& command);

  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<RedisProcess>> servers_;
  std::vector<redis::Node> nodes_;
};

}  // namespace holdfast::tools
