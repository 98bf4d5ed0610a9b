#include "sim/redis/testing/embedded_oracle.h"

#include <memory>

#include "sim/redis/server.h"
#include "sim/world/world.h"

namespace holdfast::sim::oracle {
namespace {

class EmbeddedTarget final : public Target {
 public:
  explicit EmbeddedTarget(World& world)
      : world_(world), first_(world.add_process("first")), second_(world.add_process("second")) {}

  Runtime& runtime() override { return world_.harness().runtime(); }
  Network& network() override { return world_.harness().network(); }
  Endpoint server() override { return {first_.address(), 6379}; }
  Endpoint second_server() override { return {second_.address(), 6379}; }
  WallTime wall() override { return first_.runtime().wall_now(); }
  void advance(Duration by) override { runtime().sleep_for(by); }
  void nudge() override { runtime().sleep_for(std::chrono::milliseconds(1)); }

  // [parks] Returns when the servers answer and are in sync.
  void start(bool with_replica) {
    serve(first_, first_server_, {.listen = server(), .primary = {}});
    if (!with_replica) return;
    serve(second_, second_server_, {.listen = second_server(), .primary = server()});
    while (!second_server_->ready()) nudge();
    advance(std::chrono::seconds(2));  // what follows a synchronisation is over
  }

 private:
  // The server lives on its own process' stack and ends with it.
  void serve(Process& process, RedisServer*& server, RedisServerOptions options) {
    process.start("server", [&process, &server, options] {
      RedisServer own(process.runtime(), process.network(), options);
      server = &own;
      own.serve();
    });
    while (server == nullptr) runtime().yield();
  }

  World& world_;
  Process &first_, &second_;
  RedisServer *first_server_ = nullptr, *second_server_ = nullptr;
};

}  // namespace

EmbeddedRun play_embedded(const std::vector<std::string>& steps, bool with_replica, int protocol) {
  EmbeddedRun run;
  const std::unique_ptr<World> world = make_embedded_world({.seed = 1, .hop = Duration{}});
  EmbeddedTarget target(*world);
  world->run([&] {
    target.start(with_replica);
    run.start = target.wall();
    run.transcript = play(steps, target, protocol);
  });
  return run;
}

}  // namespace holdfast::sim::oracle
