// pause-server: a node stops (SIGSTOP): it answers nobody, but its connections stay and what is sent to it is
// executed when it goes on. Healing: SIGCONT.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class PauseServer final : public Fault {
 public:
  explicit PauseServer(const FaultConfig& config) : node_(text_of(config, "node")) {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    const std::uint64_t paused = node.incarnation();
    node.pause();
    ++node.in_force(kPaused);
    targets.tell({.what = checker::Effect::paused, .party = node_});
    return [name = node_, paused](FaultTargets& later) {
      ClusterNode& node = node_of(later, name);
      if (!node.running() || node.incarnation() != paused) return;  // the pause died with its process
      node.resume();
      --node.in_force(kPaused);
      later.tell({.what = checker::Effect::resumed, .party = name});
    };
  }

 private:
  std::string node_;
};

}  // namespace

FaultKind pause_server_fault() {
  FaultKind kind{.name = "pause-server",
                 .about = "a node stops while time goes on, then executes what has queued up"};
  kind.keys = {{"node", FaultKey::Type::any_node, true, "which node"}};
  kind.must_end = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<PauseServer>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
