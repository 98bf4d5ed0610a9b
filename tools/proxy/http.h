// A small HTTP/1.1 server on the port Network; requests are taken apart and answers written by Boost.Beast.
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

// Serves connections of `listener` on tasks of `process`, which `handler` must not park for long. Returns
// when the listener is closed. A request is at most 1 MiB, and whoever says nothing for a minute is cut off.
void serve_http(sim::Process& process, Listener& listener, HttpHandler handler);

}  // namespace holdfast::tools
