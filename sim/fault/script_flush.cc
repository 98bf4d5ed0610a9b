// script-flush: a server forgets its scripts (SCRIPT FLUSH), as after a restart: the next EVALSHA is answered
// by NOSCRIPT. Nothing to heal.
#include "sim/fault/support.h"

namespace holdfast::sim {

FaultKind script_flush_fault() {
  FaultKind kind{.name = "script-flush", .about = "a node forgets its scripts (NOSCRIPT)"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"}};
  kind.at_once = kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<CommandFault>("script-flush", text_of(config, "node"),
                                          CommandFault::Command{"SCRIPT", "FLUSH"});
  };
  return kind;
}

}  // namespace holdfast::sim
