// EffectsPort: the protected resource of foreign programs, over a socket: a line for each request, a line for
// each answer. It is outside the Redis under test, as the stock of `seckill` is. The protocol:
// checker/README.md, "The effects port".
//
// A change takes place, and is written into the history, at the moment at which the request is read. Before
// that, all that the programs had printed by then is listened to: who writes under a lock printed that he has
// it before he asked here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sim/client/line_server.h"
#include "sim/external/told_client.h"

namespace holdfast::sim {

// What all clients share.
struct Effects {
  std::int64_t units = 0;
  std::int64_t newest_token = 0;
  bool used = false;
};

class EffectsPort final : public LineServer {
 public:
  // Called with what was asked for; `failed` is set where it was refused.
  using Sink = std::function<void(const ToldClient::Effect& effect)>;
  using Alive = std::function<bool()>;  // what a client sent that is dead now is not looked at
  // [parks] As LineServer's. One for each client: who asks is known by the port.
  EffectsPort(World& world, const std::string& client, Effects& effects, Alive alive, Sink sink)
      : LineServer(world, "effects-" + client),
        effects_(effects),
        alive_(std::move(alive)),
        sink_(std::move(sink)) {}

 private:
  std::string answer(std::string_view request) override;

  Effects& effects_;
  Alive alive_;
  Sink sink_;
};

}  // namespace holdfast::sim
