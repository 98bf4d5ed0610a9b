// reset-before-request: the connection breaks off before a request reaches the server: it had no effect, but
// its client cannot know. Healing: later requests pass.
#include "sim/fault/support.h"

namespace holdfast::sim {

FaultKind reset_before_request_fault() {
  FaultKind kind{.name = "reset-before-request",
                 .about = "a connection breaks before a request reaches the server (no effect)"};
  kind.keys = command_keys();
  kind.tells_hits = true;
  kind.problem = one_probability;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<MessageFault>(config, Direction::request, Action{Action::Kind::reset},
                                          command_matcher(config));
  };
  return kind;
}

}  // namespace holdfast::sim
