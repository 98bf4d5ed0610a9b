// read-only-moment: somebody makes a primary the replica of nobody who answers, and back (REPLICAOF). It
// refuses writes (READONLY) and keeps what it has. A `promote` or `demote` meanwhile outranks it: then it is
// not taken back. A replica refuses writes anyway, and is left alone.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class ReadOnlyMoment final : public CommandFault {
 public:
  explicit ReadOnlyMoment(const std::string& node)
      : CommandFault("read-only-moment", node, Command{"REPLICAOF", "127.0.0.1", "1"},
                     Command{"REPLICAOF", "NO", "ONE"}),
        node_(node) {}
  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    std::string role;
    const auto ask = [&] { role = node.administer(CommandFault::Command{"INFO", "replication"}); };
    // In force already: it is one act more.
    if (node.running() && node.in_force("read-only-moment") == 0 &&
        (!ask_patiently(targets, node, ask) || role.find("role:master") == std::string::npos))
      return {};
    return CommandFault::act(targets);
  }

 private:
  const std::string node_;
};

}  // namespace

FaultKind read_only_moment_fault() {
  FaultKind kind{.name = "read-only-moment",
                 .about = "a primary is the replica of nobody for a while: it refuses writes (READONLY)"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"}};
  kind.must_end = kind.tells_hits = true;
  kind.changes_role = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ReadOnlyMoment>(text_of(config, "node"));
  };
  return kind;
}

}  // namespace holdfast::sim
