#include "lib/testing/place.h"

#include <map>

#include "lib/net/socket_network.h"
#include "lib/runtime/check.h"
#include "lib/runtime/thread_runtime.h"
#include "lib/testing/servers.h"

namespace holdfast::testing {
namespace {

class Threads final : public Place {
 public:
  void on_ports(const std::function<void(Runtime&, Network&)>& body) override {
    ThreadRuntime runtime;
    SocketNetwork network(runtime);
    body(runtime, network);
  }
  void on_servers(int count, int attempt, const std::function<void(Fixture&, Servers&)>& body) override {
    on_ports([&](Runtime& runtime, Network& network) {
      RealServers servers(runtime, network, count);
      Fixture fixture{.where = Where::threads,
                      .runtime = runtime,
                      .network = network,
                      .redis = servers.endpoint(0),
                      .attempt = attempt};
      body(fixture, servers);
    });
  }
};

std::map<Where, std::unique_ptr<Place>>& places() {
  static std::map<Where, std::unique_ptr<Place>> all = [] {
    std::map<Where, std::unique_ptr<Place>> first;
    first[Where::threads] = std::make_unique<Threads>();
    return first;
  }();
  return all;
}

}  // namespace

std::string to_string(Where where) {
  switch (where) {
    case Where::threads: return "threads";
    case Where::loop: return "loop";
    case Where::event_loop: return "event_loop";
    case Where::embedded: return "embedded";
  }
  return "?";
}

std::vector<Where> everywhere() {
  std::vector<Where> result;
  for (const auto& [where, place] : places()) result.push_back(where);
  return result;
}

std::vector<Where> worlds() {
  std::vector<Where> result = everywhere();
  std::erase(result, Where::threads);
  std::erase(result, Where::loop);
  return result;
}

std::vector<Where> on_real_time() {
  std::vector<Where> result = everywhere();
  std::erase(result, Where::embedded);
  return result;
}

bool add_place(Where where, std::unique_ptr<Place> place) {
  places()[where] = std::move(place);
  return true;
}

bool remove_place(Where where) { return places().erase(where) > 0; }

bool has_place(Where where) { return places().contains(where); }

Place& place(Where where) {
  const auto found = places().find(where);
  HF_CHECK(found != places().end(), "this program has no such place");
  return *found->second;
}

}  // namespace holdfast::testing
