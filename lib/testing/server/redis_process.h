// RedisProcess: one real `redis-server` as a child of this program, on a loopback port, in a folder of its
// own.
//
//   TemporaryFolder folder;
//   RedisProcess redis(runtime, network, {.folder = folder.path()});
//   redis.start();                                   // returns when it answers
//   redis.call({"SET", "k", "v"});  redis.endpoint();
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lib/net/network.h"
#include "lib/redis/reply.h"
#include "lib/runtime/runtime.h"
#include "lib/testing/server/child_process.h"
#include "lib/testing/server/missing.h"

namespace holdfast {

// There is no `redis-server` on this machine; what() says how to install it.
class MissingServer : public Missing {
 public:
  MissingServer();
};

// A port of `address` on which nobody listens now, below those that the kernel gives away. Throws
// std::runtime_error.
std::uint16_t choose_port(Network& network, const std::string& address);

struct RedisProcessOptions {
  std::string folder;                      // below it: data/, server.log; created if absent
  std::string address = "127.0.0.1";       // any of 127.0.0.0/8
  std::uint16_t port = 0;                  // 0: a free one, kept from then on
  std::string configuration = {};          // a file that it reads first, and may rewrite
  std::vector<std::string> settings = {};  // more arguments: {"--appendonly", "yes"}
  std::vector<std::pair<std::string, std::string>> environment = {};  // variables beside its parent's
  Duration start_limit = std::chrono::seconds(30);
  Duration call_limit = std::chrono::seconds(10);
};

// Thread safety: tasks of one thread. Members that park say so; the others act at once.
class RedisProcess {
 public:
  enum class Until { loaded, loading };
  // Throws MissingServer. Does not start it.
  RedisProcess(Runtime& runtime, Network& network, RedisProcessOptions options);
  ~RedisProcess();  // kills it; the folder stays

  // [parks] Starts it (again, on the same port) and returns when it answers PING, having loaded its data, or
  // when it was killed meanwhile. `extra`: settings for this time. `until` loading: returns as soon as it
  // answers LOADING. Throws std::runtime_error with the end of its log.
  void start(const std::vector<std::string>& extra = {}, Until until = Until::loaded);
  void kill();  // SIGKILL
  void pause();
  void resume();
  bool running() const { return child_ && child_->running(); }
  int pid() const { return child_ ? child_->pid() : -1; }  // -1: was never started or was killed

  void erase_disk();  // REQUIRES: !running()
  // [parks] One command on a connection of its own. Throws std::runtime_error when there is no reply.
  redis::Reply call(std::span<const std::string> command);
  redis::Reply call(std::initializer_list<std::string> command) {
    return call(std::span(command.begin(), command.size()));
  }

  Endpoint endpoint() const { return {options_.address, options_.port}; }

 private:
  bool try_start(const std::vector<std::string>& extra, Until until);  // false: the port was taken
  std::string log_tail() const;

  Runtime& runtime_;
  Network& network_;
  RedisProcessOptions options_;
  std::string program_, data_folder_, log_file_;
  bool port_chosen_here_;
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace holdfast
