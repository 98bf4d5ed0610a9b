// LoopNetwork: sockets of a loop (lib/net/socket_network.h) whose names are looked up beside it: the resolver
// of the system blocks its thread, so each look-up has a thread of its own, and the task waits for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/net/network.h"
#include "lib/net/socket_network.h"

namespace holdfast::async {

// The addresses of a name as numbers, in the resolver's order; none: there is no such name. Blocks. Throws
// std::exception: that cannot be told now (IoStatus::timed_out).
using Resolver = std::vector<std::string> (*)(const std::string& name);
std::vector<std::string> system_resolver(const std::string& name);

// Thread safety: the tasks of `runtime`, which outlives it.
class LoopNetwork final : public Network {
 public:
  explicit LoopNetwork(Runtime& runtime, Resolver resolver = &system_resolver)
      : runtime_(runtime), sockets_(runtime), resolver_(resolver) {}

  Connected connect(const Endpoint& to, MonotonicTime deadline) override;
  std::unique_ptr<Listener> listen(const Endpoint& at) override { return sockets_.listen(at); }

 private:
  Runtime& runtime_;
  SocketNetwork sockets_;
  const Resolver resolver_;
};

}  // namespace holdfast::async
