// client-pause: an administrator has a node hold its clients back (CLIENT PAUSE), those that write or all.
// Their requests are executed when it is over, in order; meanwhile nothing expires. Healing: `write` is taken
// back (CLIENT UNPAUSE); from a node that holds back all it takes no command either, so that the end is told
// it at the beginning, in whole milliseconds, and it is over when it answers again. A second pause of all at
// that node begins when the first is over. https://redis.io/docs/latest/commands/client-pause/
#include <chrono>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

constexpr const char* kKind = "client-pause";

class ClientPause final : public Fault {
 public:
  explicit ClientPause(const FaultConfig& config)
      : node_(text_of(config, "node")), all_(text_of(config, "of", "write") == "all") {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    const std::uint64_t asked = node.incarnation();
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(targets.lasts).count();
    const CommandFault::Command pause = {"CLIENT", "PAUSE", std::to_string(ms), all_ ? "ALL" : "WRITE"};
    ++node.in_force(kKind);
    if (!ask_patiently(targets, node, [&] { node.administer(pause); })) return {};
    targets.hit();
    return [name = node_, all = all_, asked](FaultTargets& later) {
      ClusterNode& node = node_of(later, name);
      if (!node.running() || node.incarnation() != asked || --node.in_force(kKind) > 0) return;
      const CommandFault::Command over =
          all ? CommandFault::Command{"ECHO", "over"} : CommandFault::Command{"CLIENT", "UNPAUSE"};
      ask_patiently(later, node, [&] { node.administer(over); });
    };
  }

 private:
  const std::string node_;
  const bool all_;
};

}  // namespace

FaultKind client_pause_fault() {
  FaultKind kind{.name = kKind, .about = "a node holds back its clients that write, or all (CLIENT PAUSE)"};
  kind.keys = {
      {"node", FaultKey::Type::node, true, "which node"},
      {"of", FaultKey::Type::text, false, "whom: who writes (write, the default), or all", {"write", "all"}}};
  kind.must_end = kind.tells_hits = kind.knows_length = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ClientPause>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
