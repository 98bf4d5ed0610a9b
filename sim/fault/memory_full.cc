// memory-full: a server has no memory left (CONFIG SET maxmemory 1). It refuses every command that may need
// more, and a script at the first such command, unless it has written already. Healing: it has enough again.
// https://redis.io/docs/latest/develop/reference/eviction/
#include "sim/fault/support.h"

namespace holdfast::sim {

FaultKind memory_full_fault() {
  FaultKind kind{.name = "memory-full",
                 .about = "a node has no memory left: it refuses what may need more (OOM)"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"}};
  kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<CommandFault>("memory-full", text_of(config, "node"),
                                          CommandFault::Command{"CONFIG", "SET", "maxmemory", "1"},
                                          CommandFault::Command{"CONFIG", "SET", "maxmemory", "0"});
  };
  return kind;
}

}  // namespace holdfast::sim
