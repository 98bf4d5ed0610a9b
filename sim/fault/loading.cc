// loading: a node starts again and takes its time to load its data: it answers LOADING meanwhile (one that
// runs is killed first). Healing: it has loaded. It has hit when a client was told so.
//
// A real redis-server really loads: its file gets keys that expired long ago, each of which takes it a while
// (sim/cluster/slow_load.h), for a minute at most.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Loading final : public Fault {
 public:
  explicit Loading(const FaultConfig& config)
      : node_(text_of(config, "node")), keep_disk_(text_of(config, "disk", "keep") == "keep") {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (node.running()) {
      node.crash();
      targets.tell({.what = checker::Effect::crashed, .party = node_});
    }
    const RuleId rule = hit_by_errors(targets, node_, "LOADING");
    node.restart_loading(keep_disk_);
    if (node.running()) targets.tell({.what = checker::Effect::restarted, .party = node_});
    return [name = node_, rule, loads = node.incarnation()](FaultTargets& later) {
      ClusterNode& node = node_of(later, name);
      if (node.running() && node.incarnation() == loads) node.finish_loading();
      later.proxy.remove_rule(rule);
    };
  }

 private:
  std::string node_;
  bool keep_disk_;
};

}  // namespace

FaultKind loading_fault() {
  FaultKind kind{.name = "loading",
                 .about = "a node starts again and loads its data for a while: it answers LOADING"};
  kind.keys = {
      {"node", FaultKey::Type::node, true, "which node"},
      {"disk", FaultKey::Type::text, false, "its files: keep (default) or lose", {"keep", "lose"}},
  };
  kind.must_end = kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Loading>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
