// crash: a server is killed (SIGKILL), or a client dies with all its threads. Healing: it comes back, a
// server with the disk that it had (unless `disk = "lose"`) and the same address, a client as a new
// incarnation. Without `for` it stays dead. Who is dead already is not killed again, and the healing of an
// act brings back only what that act killed.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Crash final : public Fault {
 public:
  explicit Crash(const FaultConfig& config)
      : node_(text_of(config, "node")),
        client_(text_of(config, "client")),
        keep_disk_(text_of(config, "disk", "keep") == "keep") {}

  Healing act(FaultTargets& targets) override {
    return client_.empty() ? take_down(targets, node_, &ClusterNode::crash, keep_disk_)
                           : kill_client(targets);
  }

 private:
  Healing kill_client(FaultTargets& targets) const {
    Process* const killed = targets.client(client_);
    if (killed == nullptr || !killed->alive()) return {};
    targets.crash_client(client_);
    targets.tell({.what = checker::Effect::crashed, .party = client_});
    return [name = client_, killed](FaultTargets& later) {
      if (later.client(name) != killed) return;
      later.restart_client(name);
      later.tell({.what = checker::Effect::restarted, .party = name});
    };
  }

  std::string node_, client_;
  bool keep_disk_;
};

}  // namespace

FaultKind crash_fault() {
  FaultKind kind{.name = "crash", .about = "a node or a client is killed; with `for` it comes back"};
  kind.keys = {
      {"node", FaultKey::Type::any_node, false, "which node (or `client`)"},
      {"client", FaultKey::Type::client, false, "which client (or `node`)"},
      {"disk", FaultKey::Type::text, false, "a node's files: keep (default) or lose", {"keep", "lose"}},
  };
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Crash>(config);
  };
  kind.problem = one_of_node_and_client;
  return kind;
}

}  // namespace holdfast::sim
