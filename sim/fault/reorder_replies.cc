// reorder-replies: replies to one client change their order: the reply on one of its connections is held
// until one that came later, on another of its connections, has passed. On one connection TCP keeps the
// order, so that this meets clients that have more than one: those that pool connections, that listen on a
// connection of its own (a published message then overtakes a reply, or the other way round), or that ask
// several servers. Healing: what is held arrives, and later replies keep their order.
#include <map>
#include <memory>
#include <string>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

struct Wanted {
  std::string client, node;
  std::function<bool(const Message&)> matches;
  Chance chance;
};

class ReorderRule final : public Rule, public std::enable_shared_from_this<ReorderRule> {
 public:
  ReorderRule(Wanted wanted, Rng rng, Proxy& proxy, std::function<void()> on_hit)
      : wanted_(std::move(wanted)), rng_(rng), proxy_(proxy), on_hit_(std::move(on_hit)) {}
  void is(RuleId id) { id_ = id; }

  bool applies(const Link& link) const override {
    return wanted_.client.empty() ? !link.replication : link.from == wanted_.client;
  }
  bool needs_messages() const override { return true; }

  Action on_message(const Message& message) override {
    if (message.direction != Direction::reply) return {};
    const Link& link = message.link;
    const auto held = held_.find(link.from);
    if (held != held_.end()) {
      const auto [connection, overtaken] = held->second;
      if (connection != link.connection) return let_pass(link.from);
      // Asked again, or behind what is held.
      return overtaken ? Action{} : Action{Action::Kind::hold};
    }
    if (!wanted_.node.empty() && link.to != wanted_.node) return {};
    if (!wanted_.matches(message) || !has_another(link)) return {};
    if (!wanted_.chance.always() && !rng_.chance(wanted_.chance.part, wanted_.chance.of)) return {};
    held_[link.from] = {link.connection, false};
    return {Action::Kind::hold};
  }

 private:
  struct Held {
    std::uint64_t connection;
    bool overtaken;
  };

  bool has_another(const Link& link) const {
    for (const Link& other : proxy_.links()) {
      if (other.from == link.from && other.connection != link.connection) return true;
    }
    return false;
  }

  // The one that overtakes: what is held goes on when this one has been written.
  Action let_pass(const std::string& client) {
    auto passed = [this, client, self = shared_from_this()] {
      const auto held = held_.find(client);
      if (held == held_.end() || held->second.overtaken) return;
      held->second.overtaken = true;
      if (on_hit_) on_hit_();
      proxy_.release_held(id_);
      held_.erase(client);
    };
    return {.passed = std::make_shared<const std::function<void()>>(std::move(passed))};
  }

  const Wanted wanted_;
  Rng rng_;
  Proxy& proxy_;
  const std::function<void()> on_hit_;
  RuleId id_ = 0;
  std::map<std::string, Held> held_;  // by client: at most one of each
};

class ReorderReplies final : public Fault {
 public:
  explicit ReorderReplies(const FaultConfig& config)
      : wanted_{.client = text_of(config, "client"),
                .node = text_of(config, "node"),
                .matches = command_matcher(config),
                .chance = chance_of(config)} {}

  Healing act(FaultTargets& targets) override {
    const auto rule =
        std::make_shared<ReorderRule>(wanted_, targets.rng.child("messages"), targets.proxy, targets.hit);
    const RuleId id = targets.proxy.add_rule(rule);
    rule->is(id);
    return [id](FaultTargets& later) { later.proxy.remove_rule(id); };
  }

 private:
  const Wanted wanted_;
};

}  // namespace

FaultKind reorder_replies_fault() {
  FaultKind kind{
      .name = "reorder-replies",
      .about = "a reply is held until a later one, on another connection of its client, has passed"};
  kind.keys = {
      {"command", FaultKey::Type::text, false, "only replies to this command, \"EVALSHA\" (default: any)"},
      {"client", FaultKey::Type::client, false, "only to this client (default: to all)"},
      {"node", FaultKey::Type::node, false, "only replies of this node are held (default: of all)"},
      p_key()};
  kind.must_end = kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<ReorderReplies>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
