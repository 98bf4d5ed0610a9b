#include "sim/world/listen_by_number.h"

#include <cerrno>
#include <system_error>

namespace holdfast::sim {

std::unique_ptr<Listener> listen_by_number(Network& network, const Endpoint& at) {
  auto listener = network.listen(at);
  for (int more = 20; at.port == 0; --more) {
    const Endpoint chosen = listener->endpoint();
    listener.reset();
    try {
      return network.listen(chosen);
    } catch (const std::system_error& error) {  // a run beside this one may have taken it in between
      if (error.code().value() != EADDRINUSE || more == 0) throw;
      listener = network.listen(at);
    }
  }
  return listener;
}

}  // namespace holdfast::sim
