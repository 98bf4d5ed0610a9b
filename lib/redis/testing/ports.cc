#include "lib/redis/testing/ports.h"

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"

namespace holdfast::redis::testing {

std::string to_string(Ports ports) { return ports == Ports::threads ? "threads" : "embedded"; }

void on_ports(Ports, const std::function<void(Runtime&, Network&)>& body) {
  ThreadRuntime runtime;
  SocketNetwork network(runtime);
  body(runtime, network);
}

}  // namespace holdfast::redis::testing
