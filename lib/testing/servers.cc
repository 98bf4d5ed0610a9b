#include "lib/testing/servers.h"

namespace holdfast::testing {

RealServers::RealServers(Runtime& runtime, Network& network, int count) {
  for (int i = 0; i < count; ++i) {
    servers_.emplace_back(runtime, network,
                          RedisProcessOptions{.folder = folder_.path() + "/r" + std::to_string(i + 1)});
    servers_.back().start();
  }
}

RedisProcess& RealServers::at(std::size_t server) const {
  return *std::next(servers_.begin(), static_cast<std::ptrdiff_t>(server));
}

void on_servers(Where where, int count, const std::function<void(Fixture&, Servers&)>& body) {
  with_attempts(where, [&](int attempt) { place(where).on_servers(count, attempt, body); });
}

}  // namespace holdfast::testing
