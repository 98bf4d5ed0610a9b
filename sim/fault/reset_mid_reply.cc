// reset-mid-reply: half of a reply gets through, then the connection ends. Healing: later replies pass.
#include "sim/fault/support.h"

namespace holdfast::sim {

FaultKind reset_mid_reply_fault() {
  FaultKind kind{.name = "reset-mid-reply", .about = "a connection breaks in the middle of a reply"};
  kind.keys = command_keys();
  kind.tells_hits = true;
  kind.problem = one_probability;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<MessageFault>(
        config, Direction::reply, Action{Action::Kind::pass_half_then_reset}, command_matcher(config));
  };
  return kind;
}

}  // namespace holdfast::sim
