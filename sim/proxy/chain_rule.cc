#include "sim/proxy/chain_rule.h"

#include "sim/world/chains.h"

namespace holdfast::sim {
namespace {

class ChainRule final : public Rule {
 public:
  explicit ChainRule(Chains& chains) : chains_(chains) {}
  bool applies(const Link&) const override { return true; }
  bool needs_messages() const override { return false; }
  Action on_bytes(const Link& link, Direction direction, std::string_view) override {
    name_ = "link/";
    name_.append(link.from).append("/").append(link.to);
    name_ += direction == Direction::request ? "/request" : "/reply";
    return {.delay = chains_.message(name_)};
  }

 private:
  Chains& chains_;
  std::string name_;
};

}  // namespace

std::shared_ptr<Rule> make_chain_rule(Chains& chains) { return std::make_shared<ChainRule>(chains); }

}  // namespace holdfast::sim
