// busy-script: somebody runs a script without an end (EVAL). Until `threshold` (busy-reply-threshold) nobody
// is answered, from then on everybody by BUSY. Healing: SCRIPT KILL. It has hit when a client was told BUSY.
#include <memory>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr const char* kKind = "busy-script";
constexpr std::chrono::milliseconds kThreshold(5), kLook(1);

std::vector<std::string> threshold_command(Duration threshold) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(threshold).count();
  return {"CONFIG", "SET", "busy-reply-threshold", std::to_string(ms)};
}

bool is_busy(ClusterNode& node) {
  try {
    node.administer(std::vector<std::string>{"PING"});
    return false;
  } catch (const NodeRefuses& refusal) {
    return refusal.says("BUSY");
  }
}

// Returns when the script keeps the server busy, or this incarnation of it has died.
void occupy(FaultTargets& targets, ClusterNode& node, std::uint64_t incarnation, Duration threshold) {
  const auto set = [&] { node.administer(threshold_command(threshold)); };
  if (!ask_patiently(targets, node, set)) return;
  // Nobody waits for its answer. Its task asks again until the script runs; when it gives up, that goes on.
  struct Asked {
    bool busy = false, over = false;
  };
  const auto asked = std::make_shared<Asked>();
  const auto lives = [&node, incarnation] { return node.running() && node.incarnation() == incarnation; };
  targets.world.harness().start(kKind, [&node, asked, lives, &runtime = targets.world.harness().runtime()] {
    for (bool later = true; later;) {
      later = false;
      try {
        node.administer(std::vector<std::string>{"EVAL", "while true do end", "0"});
      } catch (const NodeRefuses& refusal) {  // it loads its data just now, or the script was killed
        later = refusal.for_now();
      } catch (const std::exception&) {  // the connection broke, maybe before the script ran
        later = true;
      }
      later = later && !asked->busy && lives();
      if (later) runtime.sleep_for(kLook);
    }
    asked->over = true;
  });
  while (!asked->busy && lives()) {
    if (asked->over) throw std::runtime_error("node " + node.name() + " did not run a script without an end");
    targets.world.harness().runtime().sleep_for(kLook);
    if (!ask_patiently(targets, node, [&] { asked->busy = is_busy(node); })) return;
  }
}

// Returns when the script has ended.
void free_again(FaultTargets& targets, ClusterNode& node) {
  const auto kill = [&] {
    try {
      node.administer(std::vector<std::string>{"SCRIPT", "KILL"});
    } catch (const NodeRefuses& refusal) {
      if (!refusal.says("NOTBUSY")) throw;
    }
  };
  if (!ask_patiently(targets, node, kill)) return;
  ask_patiently(targets, node, [&] { node.administer(threshold_command(std::chrono::seconds(5))); });
}

class BusyScript final : public Fault {
 public:
  explicit BusyScript(const FaultConfig& config)
      : node_(text_of(config, "node")),
        threshold_(get_or<Duration>(config.values, "threshold", kThreshold)) {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    const std::uint64_t asked = node.incarnation();
    const RuleId rule = hit_by_errors(targets, node_, "BUSY");
    if (node.in_force(kKind)++ == 0) occupy(targets, node, asked, threshold_);
    // Started again meanwhile: then the script may have come to the new one.
    const std::uint64_t reached = node.incarnation();
    return [name = node_, rule, asked, reached](FaultTargets& later) {
      later.proxy.remove_rule(rule);
      ClusterNode& node = node_of(later, name);
      if (!node.running() || (node.incarnation() != asked && node.incarnation() != reached)) return;
      int& acts = node.in_force(kKind);
      if (node.incarnation() == asked) --acts;
      if (acts == 0) free_again(later, node);
    };
  }

 private:
  const std::string node_;
  const Duration threshold_;
};

}  // namespace

FaultKind busy_script_fault() {
  FaultKind kind{.name = kKind, .about = "a script without an end keeps a node busy for a while (BUSY)"};
  kind.keys = {{"node", FaultKey::Type::node, true, "which node"},
               {"threshold", FaultKey::Type::duration, false,
                "how long it answers nobody before it answers BUSY, whole milliseconds (default 5ms)"}};
  kind.must_end = kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<BusyScript>(config);
  };
  kind.problem = [](const FaultConfig& config) -> std::string {
    const Duration* const threshold = config.get<Duration>("threshold");
    if (threshold == nullptr) return "";
    const bool whole = *threshold % std::chrono::milliseconds(1) == Duration::zero();
    return whole && *threshold >= std::chrono::milliseconds(1) && *threshold <= std::chrono::seconds(5)
               ? ""
               : "a `threshold` of whole milliseconds, at least \"1ms\" and at most \"5s\"";
  };
  return kind;
}

}  // namespace holdfast::sim
