// disk-full: the disk of a node takes nothing more. What a server does then, it says in its manual (and
// aof.c): a command that writes is executed and answered, and only then is it found that its append-only file
// cannot grow; from then on who writes is answered MISCONF, and so is PING. What was answered stands in the
// memory of the server only: a crash before there is space again loses it. With `persistence = "aof-always"`
// it ends by itself at the first write, without an answer, and that is told as a crash. Healing: there is
// space again; a node that ended comes back. It has hit when a client was told MISCONF, or the node ended.
#include <memory>
#include <optional>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr const char* kKind = "disk-full";
constexpr std::chrono::milliseconds kLook(1);

class DiskFull final : public Fault {
 public:
  explicit DiskFull(const FaultConfig& config) : node_(text_of(config, "node")) {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (node.in_force(kKind)++ == 0) node.fill_disk(true);
    const RuleId rule = hit_by_errors(targets, node_, "MISCONF");
    const auto watched = std::make_shared<Watched>();
    watch(targets, node, watched);
    return [name = node_, rule, watched](FaultTargets& later) {
      watched->over = true;
      later.proxy.remove_rule(rule);
      ClusterNode& node = node_of(later, name);
      if (node.in_force(kKind) == 0 || --node.in_force(kKind) == 0) node.fill_disk(false);
      if (!node.running() && watched->ended == node.incarnation()) restart_node(later, node, true);
    };
  }

 private:
  struct Watched {
    bool over = false;
    std::optional<std::uint64_t> ended = std::nullopt;  // the last incarnation that ended by itself
  };

  // Tells of a node that ends by itself, also where others have started it meanwhile. Whoever else kills it
  // sets the proxy's door first.
  static void watch(FaultTargets& targets, ClusterNode& node, const std::shared_ptr<Watched>& watched) {
    targets.world.harness().start(kKind, [&node, watched, &world = targets.world, &proxy = targets.proxy,
                                          tell = targets.tell, hit = targets.hit] {
      while (!watched->over) {
        if (node.ended_by_itself() && watched->ended != node.incarnation()) {
          proxy.set_node(node.name(), NodeState::down);
          watched->ended = node.incarnation();
          tell({.what = checker::Effect::crashed, .party = node.name()});
          hit();
        }
        world.harness().runtime().sleep_for(kLook);
      }
    });
  }

  const std::string node_;
};

}  // namespace

FaultKind disk_full_fault() {
  FaultKind kind{.name = kKind, .about = "the disk of a node is full: it refuses writes (MISCONF), or ends"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"}};
  kind.must_end = kind.tells_hits = kind.needs_append_only = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<DiskFull>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
