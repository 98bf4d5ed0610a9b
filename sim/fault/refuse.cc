// refuse: a node takes no connections, as if nothing listened there; those that exist break off, unless
// `keep`. Healing: new connections work again.
#include <algorithm>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

class Refuse final : public RuleFault {
 public:
  explicit Refuse(const FaultConfig& config) : keep_(flag_of(config, "keep")) {
    hits_ = [node = text_of(config, "node"), from = parties_of(config, "from")](const Link& link) {
      return link.to == node && std::any_of(from.begin(), from.end(), [&link](const std::string& party) {
               return party == "*" || party == link.from;
             });
    };
  }

  Healing act(FaultTargets& targets) override {
    Healing healing = RuleFault::act(targets);
    if (!keep_ && targets.proxy.reset_links(hits_) > 0) targets.hit();
    return healing;
  }

 private:
  std::shared_ptr<Rule> make_rule(FaultTargets& targets) override {
    return make_refuse_rule(hits_, targets.hit);
  }

  std::function<bool(const Link&)> hits_;
  bool keep_;
};

}  // namespace

FaultKind refuse_fault() {
  FaultKind kind{.name = "refuse", .about = "a node refuses connections: nobody reaches it, but it runs on"};
  kind.keys = {
      {"node", FaultKey::Type::any_node, true, "who refuses"},
      {"from", FaultKey::Type::parties, false, "whom: clients, nodes, or \"*\" (all; the default)"},
      {"keep", FaultKey::Type::flag, false, "true: existing connections go on, only new ones are refused"},
  };
  kind.tells_hits = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Refuse>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
