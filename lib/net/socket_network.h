// Network over non-blocking sockets (TCP and unix) that wait through Runtime::wait_fd: one implementation for
// threads and for the event loop.
#pragma once

#include <functional>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"

namespace holdfast {

// What the sockets of one network have in common.
struct SocketNetworkOptions {
  // Address from which connections are made and at which an endpoint without a host listens; "": the system's
  // choice.
  std::string source_address = {};
  int backlog = 1024;  // of a listener
  // A TCP connection on which nothing has moved for so long is probed by the system; three probes unanswered,
  // a third of it apart, and it is broken (IoStatus::reset). In whole seconds, at least 1; zero: the system's
  // setting (two hours).
  Duration keep_alive = std::chrono::seconds(15);
  // Set: makes the connections, through a proxy or a tunnel, say. Returns a connected stream socket, which
  // belongs to the network from then on; -1, with errno saying why, if there is none by the deadline. It may
  // block its thread.
  std::function<int(const Endpoint& to, MonotonicTime deadline)> connector = {};
  // Called with the descriptor of each listener once it listens, by who sets options of his own on it. It is
  // valid until the listener is destroyed.
  std::function<void(int fd)> on_listening = {};
};

// Thread safety: as Network; the object is stateless but for its options. `runtime` outlives it and its
// streams.
class SocketNetwork final : public Network {
 public:
  // `runtime` waits for the sockets.
  explicit SocketNetwork(Runtime& runtime, SocketNetworkOptions options = {});

  // Host names are resolved by the system's resolver, which blocks the calling thread; numeric addresses are
  // not looked up. All addresses of a name are tried in order, each for its share of the time that is left.
  // What may pass by itself is IoStatus::timed_out, too: one address is silent, the name cannot be looked
  // up now, or there is no descriptor left.
  Connected connect(const Endpoint& to, MonotonicTime deadline) override;
  std::unique_ptr<Listener> listen(const Endpoint& at) override;

 private:
  Runtime& runtime_;
  SocketNetworkOptions options_;
};

}  // namespace holdfast
