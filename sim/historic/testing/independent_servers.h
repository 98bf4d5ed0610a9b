// Servers that know nothing of each other, as databases of one: what counts is that each has its own keys.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/historic/testing/peer.h"

namespace holdfast::historic {

struct IndependentServers {
  struct Options {
    int count = 3, dead = 0;        // these, the last ones, cannot be reached
    bool wait_for_servers = false;  // a dead one costs its whole time
  };
  IndependentServers(testing::Fixture& fixture, const Options& options) {
    for (int number = 0; number < options.count; ++number) {
      redis::ClientOptions of_node = fixture.options();
      of_node.wait_for_servers = options.wait_for_servers;
      of_node.database = number;
      if (number >= options.count - options.dead) of_node.nodes = {{"dead", {"127.0.0.1", 1}}};
      servers.push_back(std::make_unique<redis::Client>(fixture.runtime, fixture.network, of_node));
      nodes.push_back(servers.back().get());
    }
  }
  redis::Reply ask(int number, std::initializer_list<std::string_view> command) {
    return nodes[static_cast<std::size_t>(number)]->call(command).reply;
  }

  std::vector<std::unique_ptr<redis::Client>> servers;
  std::vector<redis::Client*> nodes;
};

}  // namespace holdfast::historic
