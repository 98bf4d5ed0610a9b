// kill-connection: a server closes connections of its clients (CLIENT KILL TYPE), as an administrator does:
// those that ask, or those that listen. New ones are taken. Nothing to heal. The proxy's `cut` breaks off
// whatever is on the way, too; here the server has answered what it has read.
#include "sim/fault/support.h"

namespace holdfast::sim {

FaultKind kill_connection_fault() {
  FaultKind kind{.name = "kill-connection",
                 .about = "a node closes the connections of its clients; new ones work"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"},
               {"of",
                FaultKey::Type::text,
                false,
                "whose: those that ask (normal, the default), or that listen to channels (pubsub)",
                {"normal", "pubsub"}}};
  kind.at_once = kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<CommandFault>(
        "kill-connection", text_of(config, "node"),
        CommandFault::Command{"CLIENT", "KILL", "TYPE", text_of(config, "of", "normal")});
  };
  return kind;
}

}  // namespace holdfast::sim
