// A process of its own outside the Redis under test that answers lines of text, one for each request, over
// the Network port: what protected resources are made of. And a client's connection to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/net/network.h"
#include "sim/world/world.h"

namespace holdfast::sim {

class LineServer {
 public:
  virtual ~LineServer() = default;
  Endpoint endpoint() const { return endpoint_; }

 protected:
  // [parks] Starts the process `name` and returns when it listens. REQUIRES: on a task of the harness; the
  // server outlives the world's tasks. No request is answered before the caller parks again.
  LineServer(World& world, const std::string& name);

 private:
  virtual std::string answer(std::string_view request) = 0;
  void serve(Listener& listener);
  void converse(Stream& stream);

  Process& process_;
  Endpoint endpoint_;
};

// One task's connection to it. Not shared.
class LineClient {
 public:
  LineClient(Process& process, Endpoint server, Duration timeout);

  // [parks] The answer's line. Sets `sent` when the request may have been received.
  std::optional<std::string> ask(const std::string& request, bool& sent);

 private:
  Process& process_;
  const Endpoint server_;
  const Duration timeout_;
  std::unique_ptr<Stream> stream_;
};

// The next number of `text`, which it is taken off.
std::optional<std::int64_t> take_number(std::string_view& text);

}  // namespace holdfast::sim
