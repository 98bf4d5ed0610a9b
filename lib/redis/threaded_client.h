// ThreadedClient: a Client with threads and sockets of its own, from a URL; what an application needs beside
// a lock.
//
//   holdfast::redis::ThreadedClient redis("redis://localhost:6379");
//   holdfast::ReentrantLocks locks(redis, {.lease = std::chrono::seconds(10)});
//
// Thread safety: as Client.
#pragma once

#include <string_view>
#include <utility>

#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/redis/url.h"
#include "lib/runtime/thread_runtime.h"

namespace holdfast::redis {

class ThreadedClient {
 public:
  // Does not connect yet: the first call does. Throws BadUrl.
  explicit ThreadedClient(std::string_view url) : ThreadedClient(options_from_url(url)) {}
  // Options that a URL does not have: begin with options_from_url() or options_from_urls().
  explicit ThreadedClient(ClientOptions options)
      : network_(runtime_), client_(runtime_, network_, std::move(options)) {}

  // The client, for locks and commands.
  Client& client() noexcept { return client_; }
  operator Client&() noexcept { return client_; }  // so that it can stand where a lock wants a Client
  // For commands: redis->call({"PING"}).
  Client* operator->() noexcept { return &client_; }
  // The threads and clocks that it runs on.
  Runtime& runtime() noexcept { return runtime_; }

 private:
  ThreadRuntime runtime_;
  SocketNetwork network_;
  Client client_;
};

}  // namespace holdfast::redis
