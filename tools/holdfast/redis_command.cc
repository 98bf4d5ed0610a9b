// `holdfast redis`: the embedded Redis on a real port, for clients that are not part of a world.
#include <fmt/format.h>
#include <system_error>

#include "lib/testing/server/missing.h"
#include "sim/redis/config.h"
#include "sim/redis/server.h"
#include "sim/world/world.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/end_signals.h"
#include "tools/holdfast/output.h"

namespace holdfast::tools {
namespace {

constexpr const char* kHost = "127.0.0.1";

void check_settings(const RedisArguments& arguments) {
  sim::embedded::Config config;
  for (const auto& [name, value] : arguments.settings) {
    const std::string given = "--config: `" + name + "=" + value + "`: ";
    if (!config.knows(name)) throw BadUsage(given + "unknown setting");
    const std::string why_not = config.set(name, value);
    if (!why_not.empty()) throw BadUsage(given + why_not);
  }
}

}  // namespace

ExitCode redis_command(const RedisArguments& arguments) {
  check_settings(arguments);
  const EndSignals signals;
  sim::embedded::Disk disk;  // SAVE and the append-only file live in memory and end with the process
  // Scripts run on the stack of the connection's task.
  const auto world = sim::make_real_world({.stack_bytes = 1u << 20});
  world->run([&] {
    sim::Process& process = world->harness();
    const Endpoint at{kHost, arguments.port};
    std::unique_ptr<sim::RedisServer> server;
    try {
      server = std::make_unique<sim::RedisServer>(
          process.runtime(), process.network(),
          sim::RedisServerOptions{
              .listen = at, .disk = &disk, .primary = arguments.primary, .settings = arguments.settings});
    } catch (const std::system_error& error) {
      throw Missing(fmt::format("redis: port {} of {} cannot be had: {}; --port 0 takes a free one", at.port,
                                kHost, error.code().message()));
    }
    process.start("signals", [&] {
      while (!process.runtime().wait_fd(signals.fd(), FdInterest::readable, kNever)) {
      }
      server->stop();
    });
    print_out(
        fmt::format("the embedded Redis listens at {}; Ctrl-C ends it\n", server->endpoint().to_string()));
    server->serve();
  });
  return kMet;
}

}  // namespace holdfast::tools
