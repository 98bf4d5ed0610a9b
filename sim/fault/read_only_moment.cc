// read-only-moment: somebody makes a primary the replica of nobody who answers, and back (REPLICAOF). It
// refuses writes (READONLY) and keeps what it has. A `promote` or `demote` meanwhile outranks it: then it is
// not taken back.
#include "sim/fault/support.h"

namespace holdfast::sim {

FaultKind read_only_moment_fault() {
  FaultKind kind{.name = "read-only-moment",
                 .about = "a primary is the replica of nobody for a while: it refuses writes (READONLY)"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"}};
  kind.must_end = kind.tells_hits = true;
  kind.changes_role = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<CommandFault>("read-only-moment", text_of(config, "node"),
                                          CommandFault::Command{"REPLICAOF", "127.0.0.1", "1"},
                                          CommandFault::Command{"REPLICAOF", "NO", "ONE"});
  };
  return kind;
}

}  // namespace holdfast::sim
