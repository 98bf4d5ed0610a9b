// evict-key: one key of a server is gone, as when a full cache evicts it, or somebody deletes it by hand
// (DEL). persist-key: it has no expiry any more, as when somebody sets it so by hand (PERSIST), or a script
// of others writes it anew without one. Nothing to heal. Either has hit when there was something to take
// away. A lock that keeps its state in several keys may be left with half of it, and a record without an end
// outlives its holder. No lock promises to bear that: no hunt draws these.
#include <array>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

struct Loss {
  std::string_view command;            // what takes it away
  std::string_view question, nothing;  // what is asked before, and how an answer begins that finds nothing
};
constexpr Loss kEvicted{.command = "DEL", .question = "TYPE", .nothing = "none"};
constexpr Loss kPersisted{.command = "PERSIST", .question = "PTTL", .nothing = "-"};

class OneKey final : public Fault {
 public:
  OneKey(const FaultConfig& config, const Loss& loss)
      : node_(text_of(config, "node")), key_(text_of(config, "key")), loss_(loss) {}

  Healing act(FaultTargets& targets) override {
    ClusterNode& node = node_of(targets, node_);
    if (!node.running()) return {};
    // Asked twice, it may have been gone by the first time.
    bool there = false;
    const auto remove = [&] {
      const std::array<std::string, 2> ask{std::string(loss_.question), key_},
          take{std::string(loss_.command), key_};
      there = there || !node.administer(ask).starts_with(loss_.nothing);
      node.administer(take);
    };
    if (ask_patiently(targets, node, remove) && there) targets.hit();
    return {};
  }

 private:
  const std::string node_, key_;
  const Loss loss_;
};

template <const Loss& loss>
FaultKind one_key_fault(std::string_view name, std::string_view about) {
  FaultKind kind{.name = name, .about = about};
  kind.keys = {
      {"node", FaultKey::Type::node, true, "which node"},
      {"key", FaultKey::Type::text, true, "its name in Redis, of a lock's record or of what is beside it"}};
  kind.at_once = kind.tells_hits = true;
  kind.by_hand = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<OneKey>(config, loss);
  };
  return kind;
}

}  // namespace

FaultKind evict_key_fault() {
  return one_key_fault<kEvicted>("evict-key",
                                 "one key of a node is gone, as when a full cache evicts it (DEL)");
}

FaultKind persist_key_fault() {
  return one_key_fault<kPersisted>("persist-key",
                                   "one key of a node has no expiry any more, as set so by hand (PERSIST)");
}

}  // namespace holdfast::sim
