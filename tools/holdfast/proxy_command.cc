// `holdfast proxy`: the fault-injecting proxy as a tool of its own, driven by the HTTP API of Toxiproxy 2.
#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "lib/net/socket_network.h"
#include "lib/testing/server/missing.h"
#include "lib/tls/tls_network.h"
#include "sim/scenario/document.h"
#include "sim/scenario/parse_recogniser.h"
#include "sim/scenario/problem.h"
#include "sim/world/world.h"
#include "tools/holdfast/commands.h"
#include "tools/holdfast/end_signals.h"
#include "tools/holdfast/escape.h"
#include "tools/holdfast/output.h"
#include "tools/proxy/api_error.h"
#include "tools/proxy/control.h"
#include "tools/proxy/lock_watch.h"
#include "tools/proxy/recording.h"

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

// A shipped one by its name, or a file.
sim::Recogniser recogniser_of(const std::string& name) {
  if (const sim::Recogniser* const shipped = sim::find_recogniser(name)) return *shipped;
  if (!name.ends_with(".toml")) {
    std::vector<std::string> known;
    for (const sim::Recogniser& one : sim::shipped_recognisers()) known.push_back(one.name);
    throw BadUsage("proxy: --recogniser: unknown recogniser `" + name + "`, expected " + sim::one_of(known) +
                   ", or a file NAME.toml" + sim::did_you_mean(name, known));
  }
  std::ifstream file(name);
  if (!file) throw BadUsage("proxy: --recogniser: " + name + ": this file cannot be opened");
  std::ostringstream text;
  text << file.rdbuf();
  return sim::parse_recogniser(sim::parse_toml(text.str(), name), "a recogniser");
}

// The locks that are read off the traffic, if anybody wants to know.
struct Locks {
  std::optional<Recording> recording;
  std::optional<LockWatch> watch;
};

void watch_locks(Locks& locks, sim::World& world, const ProxyArguments& arguments) {
  if (arguments.record.empty() && arguments.recogniser.empty()) return;
  const sim::Recogniser recogniser =
      recogniser_of(arguments.recogniser.empty() ? "set-nx" : arguments.recogniser);
  if (!arguments.record.empty()) locks.recording.emplace(arguments.record, world.now_ns());
  locks.watch.emplace(world, recogniser, locks.recording ? &*locks.recording : nullptr);
}

}  // namespace

ExitCode proxy_command(const ProxyArguments& arguments) {
  check(arguments);
  // Standard output may be the recording's.
  const auto say = [&](const std::string& line) {
    arguments.record == "-" ? print_err(line) : print_out(line);
  };
  if (arguments.record == "-") std::signal(SIGPIPE, SIG_IGN);  // told as what cannot be written
  EndSignals signals;
  ExitCode code = kMet;
  const auto world = sim::make_real_world({.seed = arguments.seed, .stack_bytes = 256u << 10});
  Locks locks;
  watch_locks(locks, *world, arguments);
  world->run([&] {
    sim::Process& process = world->harness();
    SocketNetwork sockets(process.runtime());
    std::optional<TlsNetwork> encrypted, guests;
    try {
      if (arguments.upstreams) encrypted.emplace(process.runtime(), sockets, *arguments.upstreams);
      if (arguments.guests) guests.emplace(process.runtime(), sockets, *arguments.guests);
    } catch (const BadTls& error) {
      throw BadUsage(std::string("proxy: ") + error.what());
    }
    Network& dials = encrypted ? static_cast<Network&>(*encrypted) : sockets;
    ProxyControl control(*world, process, dials, arguments.seed, arguments.anywhere,
                         locks.watch ? &*locks.watch : nullptr, guests ? &*guests : nullptr);
    if (arguments.anywhere)
      say("--anywhere: whoever reaches this machine can use the proxies, and drive them by the API\n");
    if (!arguments.listen.empty()) {
      try {
        const std::string at = control.create("redis", arguments.listen, arguments.upstream, true, true);
        say(fmt::format("proxy `redis` listens at {} for {}\n", at, arguments.upstream));
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
    say(fmt::format("the API listens at http://{}; Ctrl-C ends it\n", api->endpoint().to_string()));
    process.start("api", [&] {
      serve_http(process, *api, [&](const HttpRequest& request) { return control.handle(request); });
    });
    int signal = 0;
    bool told = false;
    while (signal == 0) {
      const MonotonicTime next = deadline_after(process.runtime().now(), std::chrono::milliseconds(200));
      process.runtime().wait_fd(signals.fd(), FdInterest::readable, locks.recording ? next : kNever);
      signal = signals.take();
      if (!locks.recording || locks.recording->problem().empty() || std::exchange(told, true)) continue;
      print_err("holdfast: " + for_terminal(locks.recording->problem()) + "\n");
      code = kOutput;
      if (arguments.record == "-") return;  // nobody reads it any more
    }
    if (signal == SIGINT) code = worse(code, kInterrupted);
  });
  if (locks.watch) locks.watch->finish();
  if (locks.recording) {
    locks.recording->end(world->now_ns());
    say(fmt::format("recorded    {}: {} events\n", for_terminal(arguments.record),
                    locks.recording->events()));
  }
  return code;
}

}  // namespace holdfast::tools
