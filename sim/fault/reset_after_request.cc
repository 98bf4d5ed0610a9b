// reset-after-request: the server has executed a request, then the connection breaks off before the reply
// gets through: it had its effect, but its client cannot know. Counts replies to matching requests. Healing:
// later replies pass.
#include "sim/fault/support.h"

namespace holdfast::sim {

FaultKind reset_after_request_fault() {
  FaultKind kind{.name = "reset-after-request",
                 .about = "a connection breaks after a request was executed, before its reply"};
  kind.keys = command_keys();
  kind.tells_hits = true;
  kind.problem = one_probability;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<MessageFault>(config, Direction::reply, Action{Action::Kind::reset},
                                          command_matcher(config));
  };
  return kind;
}

}  // namespace holdfast::sim
