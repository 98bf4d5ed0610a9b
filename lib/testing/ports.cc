#include "lib/testing/ports.h"

#include "lib/net/socket_network.h"
#include "lib/runtime/thread_runtime.h"
#include "sim/world/world.h"

namespace holdfast::redis::testing {

std::string to_string(Ports ports) {
  switch (ports) {
    case Ports::threads: return "threads";
    case Ports::embedded: return "embedded";
    case Ports::event_loop: return "event_loop";
  }
  return "?";
}

void on_ports(Ports ports, const std::function<void(Runtime&, Network&)>& body) {
  if (ports == Ports::threads) {
    ThreadRuntime runtime;
    SocketNetwork network(runtime);
    body(runtime, network);
    return;
  }
  const auto world = ports == Ports::embedded ? sim::make_embedded_world({}) : sim::make_real_world({});
  world->run([&] { body(world->harness().runtime(), world->harness().network()); });
}

}  // namespace holdfast::redis::testing
