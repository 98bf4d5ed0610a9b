// A small HTTP/1.1 server on the port Network, and a client; Boost.Beast takes messages apart and writes
// them.
#pragma once

#include <functional>
#include <string>

#include "lib/net/network.h"
#include "lib/runtime/runtime.h"
#include "sim/world/world.h"

namespace holdfast::tools {

struct HttpRequest {
  std::string method, target, user_agent, body;
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json", body = {};
};

using HttpHandler = std::function<HttpAnswer(const HttpRequest& request)>;

// Asks a server once, on a connection of its own. Throws std::runtime_error: nobody is there, or what comes
// is no HTTP.
HttpAnswer ask_http(Runtime& runtime, Network& network, const Endpoint& at, const std::string& method,
                    const std::string& target);

// Serves connections of `listener` on tasks of `process`, which `handler` must not park for long. Returns
// when the listener is closed. A request is at most 1 MiB, and whoever says nothing for a minute is cut off.
void serve_http(sim::Process& process, Listener& listener, HttpHandler handler);

}  // namespace holdfast::tools
