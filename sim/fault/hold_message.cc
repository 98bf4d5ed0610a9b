// hold-message: one message, a command or its answer, stands still on its way. What comes behind it on its
// connection waits, as TCP keeps the order; all else passes: the other connections of its client, and the
// other direction of this one. So a renewal comes later than a release that was sent after it, on another
// connection. Healing: it arrives, and what waited behind it.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

struct Wanted {
  std::string client, node;
  std::function<bool(const Message&)> matches;
  Direction direction = Direction::request;
  std::int64_t nth = 1;
};

class HoldMessageRule final : public Rule {
 public:
  HoldMessageRule(Wanted wanted, std::function<void()> on_hit)
      : wanted_(std::move(wanted)), on_hit_(std::move(on_hit)) {}

  bool applies(const Link& link) const override {
    return (wanted_.client.empty() ? link.of_client() : link.from == wanted_.client) &&
           (wanted_.node.empty() || link.to == wanted_.node);
  }
  bool needs_messages() const override { return true; }

  Action on_message(const Message& message) override {
    if (message.direction != wanted_.direction) return {};
    if (held_on_) return *held_on_ == message.link.connection ? Action{Action::Kind::hold} : Action{};
    if (!wanted_.matches(message) || ++met_ < wanted_.nth) return {};
    held_on_ = message.link.connection;
    if (on_hit_) on_hit_();
    return {Action::Kind::hold};
  }

 private:
  const Wanted wanted_;
  const std::function<void()> on_hit_;
  std::int64_t met_ = 0;
  std::optional<std::uint64_t> held_on_;  // the connection
};

class HoldMessage final : public Fault {
 public:
  explicit HoldMessage(const FaultConfig& config)
      : wanted_{.client = text_of(config, "client"),
                .node = text_of(config, "node"),
                .matches = command_matcher(config),
                .direction =
                    text_of(config, "phase", "request") == "reply" ? Direction::reply : Direction::request} {
    if (const auto* nth = config.get<std::int64_t>("nth")) wanted_.nth = *nth;
  }

  Healing act(FaultTargets& targets) override {
    const RuleId id = targets.proxy.add_rule(std::make_shared<HoldMessageRule>(wanted_, targets.hit));
    return [id](FaultTargets& later) { later.proxy.remove_rule(id); };
  }

 private:
  Wanted wanted_;
};

}  // namespace

FaultKind hold_message_fault() {
  FaultKind kind{
      .name = "hold-message",
      .about = "one command or answer stands still, and its connection behind it; all others pass"};
  kind.keys = {{"command", FaultKey::Type::text, false, "only this command, \"EVALSHA\" (default: any)"},
               {"phase",
                FaultKey::Type::text,
                false,
                "what is held: the request (the default), or its reply",
                {"request", "reply"}},
               {"client", FaultKey::Type::client, false, "only of this client (default: of any)"},
               {"node", FaultKey::Type::node, false, "only to or from this node (default: any)"},
               {"nth", FaultKey::Type::count, false,
                "which matching message, counted from 1 since the fault acts (default 1)"}};
  kind.must_end = kind.tells_hits = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<HoldMessage>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
