// The place of a test (lib/testing/place.h) whose tasks are those of a Loop, with real Redis servers: the
// only one of the program into which this file is linked.
#include "lib/async/loop.h"
#include "lib/testing/place.h"
#include "lib/testing/servers.h"

namespace holdfast::testing {
namespace {

class LoopPlace final : public Place {
 public:
  void on_ports(const std::function<void(Runtime&, Network&)>& body) override {
    async::Loop loop;
    loop.call([&] { body(loop.runtime(), loop.network()); });
  }
  void on_servers(int count, int attempt, const std::function<void(Fixture&, Servers&)>& body) override {
    on_ports([&](Runtime& runtime, Network& network) {
      RealServers servers(runtime, network, count);
      Fixture fixture{.where = Where::loop,
                      .runtime = runtime,
                      .network = network,
                      .redis = servers.endpoint(0),
                      .attempt = attempt};
      body(fixture, servers);
    });
  }
};

[[maybe_unused]] const bool added =
    add_place(Where::loop, std::make_unique<LoopPlace>()) && remove_place(Where::threads);

}  // namespace
}  // namespace holdfast::testing
