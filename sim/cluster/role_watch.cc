#include "sim/cluster/role_watch.h"

#include <chrono>
#include <stdexcept>

#include "lib/testing/server/server_connection.h"

namespace holdfast::sim {

void RoleWatch::look_at(const std::string& node, const Endpoint& address, bool primary) {
  primary_[node] = primary;
  world_.harness().start("roles", [this, node, address] {
    Process& harness = world_.harness();
    bool& known = primary_[node];
    for (;;) {
      try {
        const auto soon = [&] { return deadline_after(harness.runtime().now(), std::chrono::seconds(10)); };
        ServerConnection connection(harness.network(), address, soon());
        for (;;) {
          const redis::Reply role = connection.call({"ROLE"}, soon());
          if (!role.items.empty()) {
            const bool now = role.items[0].text == "master";
            if (now != known) told_(node, now);
            known = now;
          }
          harness.runtime().sleep_for(std::chrono::milliseconds(10));
        }
      } catch (const std::runtime_error&) {  // it is down: it may come back
      }
      harness.runtime().sleep_for(std::chrono::milliseconds(50));
    }
  });
}

}  // namespace holdfast::sim
