// `holdfast proxy`: the fault-injecting proxy as a tool of its own, driven by the HTTP API of Toxiproxy 2.
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <system_error>

#include "lib/net/socket_network.h"
#include "lib/testing/server/missing.h"
#include "sim/world/world.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/end_signals.h"
#include "tools/holdfast/output.h"
#include "tools/proxy/api_error.h"
#include "tools/proxy/control.h"

namespace holdfast::tools {
namespace {

Endpoint endpoint_from(const std::string& flag, const std::string& text) {
  try {
    return read_endpoint(text);
  } catch (const std::invalid_argument& error) {
    throw BadUsage("proxy: " + flag + ": " + error.what());
  }
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void check(const ProxyArguments& arguments) {
  if (arguments.listen.empty() != arguments.upstream.empty())
    throw BadUsage("proxy: --listen and --upstream go together");
  const auto listens = [&](const std::string& flag, const std::string& text) {
    const Endpoint at = endpoint_from(flag, text);
    if (!arguments.anywhere && !is_loopback(at.host))
      throw BadUsage("proxy: " + flag + ": `" + text +
                     "` is not of this machine alone; --anywhere allows it");
  };
  listens("--api", arguments.api);
  if (arguments.listen.empty()) return;
  listens("--listen", arguments.listen);
  if (endpoint_from("--upstream", arguments.upstream).port == 0)
    throw BadUsage("proxy: --upstream: `" + arguments.upstream + "` has no port to connect to");
}

}  // namespace

ExitCode proxy_command(const ProxyArguments& arguments) {
  check(arguments);
  EndSignals signals;
  ExitCode code = kMet;
  const auto world = sim::make_real_world({.seed = arguments.seed, .stack_bytes = 256u << 10});
  world->run([&] {
    sim::Process& process = world->harness();
    SocketNetwork dials(process.runtime());
    ProxyControl control(*world, process, dials, arguments.seed, arguments.anywhere);
    if (arguments.anywhere)
      print_out("--anywhere: whoever reaches this machine can use the proxies, and drive them by the API\n");
    if (!arguments.listen.empty()) {
      try {
        const std::string at = control.create("redis", arguments.listen, arguments.upstream, true, true);
        print_out(fmt::format("proxy `redis` listens at {} for {}\n", at, arguments.upstream));
      } catch (const ApiError& error) {
        throw Missing(fmt::format("proxy: {}; port 0 takes a free one", error.what()));
      }
    }
    std::unique_ptr<Listener> api;
    try {
      api = process.network().listen(read_endpoint(arguments.api));
    } catch (const std::system_error& error) {
      throw Missing(fmt::format("proxy: the API cannot listen at {}: {}; --api HOST:0 takes a free port",
                                arguments.api, error.code().message()));
    }
    print_out(fmt::format("the API listens at http://{}; Ctrl-C ends it\n", api->endpoint().to_string()));
    process.start("api", [&] {
      serve_http(process, *api, [&](const HttpRequest& request) { return control.handle(request); });
    });
    int signal = 0;
    while (signal == 0) {
      process.runtime().wait_fd(signals.fd(), FdInterest::readable, kNever);
      signal = signals.take();
    }
    code = signal == SIGINT ? kInterrupted : kMet;
  });
  return code;
}

}  // namespace holdfast::tools
