// A server that somebody uses, for `holdfast locks` and `holdfast unlock`: connected to once, as a client of
// its locks would be, and asked whether it is the right one.
#pragma once

#include <string>
#include <vector>

#include "lib/net/socket_network.h"
#include "lib/redis/client.h"
#include "lib/runtime/thread_runtime.h"

namespace holdfast::tools {

class LiveServer {
 public:
  // `urls`: one server, or the nodes of one replicated set, of which the primary is asked. `password`: where
  // the URLs have none. Throws BadUsage for a URL that is none, that names a Cluster, or whose
  // certificates cannot be used.
  LiveServer(const std::vector<std::string>& urls, const std::string& password);

  // [parks] Throws Missing, one line: nobody answers, or who does is no primary of a Redis outside a Cluster.
  void require_primary();
  redis::Client& client() { return client_; }
  // The address of who answered. REQUIRES: require_primary() has returned.
  const std::string& address() const { return address_; }

 private:
  ThreadRuntime runtime_;
  SocketNetwork network_{runtime_};
  redis::Client client_;
  std::string address_;
};

}  // namespace holdfast::tools
