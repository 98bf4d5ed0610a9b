// shutdown: a node is shut down in order (SHUTDOWN). It holds back who writes until its replicas have
// everything, for 10 s at most (`shutdown-timeout`; not with `now`), saves a snapshot if it has save points
// (`persistence = "rdb"`) or is told to, syncs its append-only file, and ends. With `nosave` it saves no
// snapshot, whatever its settings are. Healing: it comes back with what its disk has. One that is dead
// already is left alone. https://redis.io/docs/latest/commands/shutdown/
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Shutdown final : public Fault {
 public:
  explicit Shutdown(const FaultConfig& config) : node_(text_of(config, "node")) {
    const std::string save = text_of(config, "save", "as-set");
    if (save == "yes") words_.emplace_back("SAVE");
    if (save == "no") words_.emplace_back("NOSAVE");
    if (flag_of(config, "now")) words_.emplace_back("NOW");
  }

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    const std::uint64_t asked = node.incarnation();
    if (!ask_patiently(targets, node, [&] { node.shut_down(words_); })) return {};
    targets.tell({.what = checker::Effect::crashed, .party = node_});
    return [name = node_, asked](FaultTargets& later) {
      ClusterNode& node = node_of(later, name);
      if (!node.running() && node.incarnation() == asked) restart_node(later, node, true);
    };
  }

 private:
  const std::string node_;
  std::vector<std::string> words_;
};

}  // namespace

FaultKind shutdown_fault() {
  FaultKind kind{.name = "shutdown",
                 .about = "a node is shut down in order, and saves or not; with `for` it comes back"};
  kind.keys = {
      {"node", FaultKey::Type::node, true, "which node"},
      {"save",
       FaultKey::Type::text,
       false,
       "a snapshot: as-set (if it has save points; the default), yes (SAVE), or no (NOSAVE)",
       {"as-set", "yes", "no"}},
      {"now", FaultKey::Type::flag, false, "without waiting for replicas that lag (default false)"},
  };
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Shutdown>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
