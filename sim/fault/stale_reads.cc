// stale-reads: a replica answers reads with what it had when this began: what its primary sends it is held.
// Who reads from replicas meets it: programs of others, and scripts of an administrator. No lock of this
// library does, nor any that it compares: they all ask the primary. It has hit when a client was answered by
// that replica. Healing: what was held arrives, in order.
#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class StaleReads final : public Fault {
 public:
  explicit StaleReads(const FaultConfig& config) : node_(text_of(config, "node")) {}

  Healing act(FaultTargets& targets) override {
    const RuleId hold = targets.proxy.add_rule(make_hold_rule([node = node_](const Link& link) {
      return Lanes{.request = false, .reply = link.replication && link.from == node};
    }));
    NthMessage told;
    told.which = [node = node_](const Link& link) {
      return Lanes{.request = false, .reply = !link.replication && link.to == node};
    };
    told.matches = [](const Message& message) {
      return message.reply != nullptr && !message.reply->is_error() && reads(message.command);
    };
    told.count = 0;
    told.on_hit = targets.hit;
    const RuleId look = targets.proxy.add_rule(make_nth_message_rule(std::move(told)));
    targets.tell({.what = checker::Effect::lagging, .party = node_});
    return [hold, look, node = node_](FaultTargets& later) {
      later.proxy.remove_rule(look);
      later.proxy.remove_rule(hold);
      later.tell({.what = checker::Effect::caught_up, .party = node});
    };
  }

 private:
  // Not what a client asks when it connects, or looks who is the primary.
  static bool reads(std::string_view command) {
    for (const std::string_view other : {"", "HELLO", "AUTH", "CLIENT", "PING", "ROLE", "INFO", "SELECT",
                                         "COMMAND", "CONFIG", "QUIT", "SUBSCRIBE", "PSUBSCRIBE"}) {
      if (command == other) return false;
    }
    return true;
  }

  const std::string node_;
};

}  // namespace

FaultKind stale_reads_fault() {
  FaultKind kind{.name = "stale-reads", .about = "a replica answers reads with what it had when this began"};
  kind.keys = {{"node", FaultKey::Type::node, true, "the replica"}};
  kind.must_end = kind.tells_hits = kind.needs_replicas = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<StaleReads>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
