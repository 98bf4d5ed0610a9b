// split: everybody, clients, nodes and Sentinels, falls apart in a shape that is drawn:
//
//   halves   two sides, and nothing gets through between them
//   one-way  two sides; what the first one says the second does not hear
//   bridge   two sides, and one node that both sides still see
//   ring     each sees those near to it on a circle, a good half of all, and no two see quite the same
//
// On which side or at which place of the circle somebody is, is drawn from the act's stream and the name. As
// TCP sees it this is a `partition`, and heals as one.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/fault/support.h"

namespace holdfast::sim {
namespace {

enum class Form : std::uint8_t { halves, one_way, bridge, ring };

Form form_of(const std::string& text) {
  return text == "one-way"  ? Form::one_way
         : text == "bridge" ? Form::bridge
         : text == "ring"   ? Form::ring
                            : Form::halves;
}

// Where everybody is.
struct Places {
  Form form;
  Rng rng;
  std::string bridge;  // the node that all see; "" none

  // On a circle of a million. What is drawn for a name does not depend on who else is there.
  std::int64_t place(const std::string& name) const {
    Rng its = rng.child(name);
    return static_cast<std::int64_t>(its.between(0, kCircle - 1));
  }
  Lanes lost(const Link& link) const {
    if (link.from == bridge || link.to == bridge) return {};
    const std::int64_t from = place(link.from), to = place(link.to);
    if (form == Form::ring) {
      const std::int64_t apart = from < to ? to - from : from - to;
      const bool far = std::min(apart, static_cast<std::int64_t>(kCircle) - apart) > kSight;
      return {.request = far, .reply = far};
    }
    const bool first = from < kHalf, second = to < kHalf;
    if (first == second) return {};
    if (form == Form::one_way) return {.request = first, .reply = second};
    return {.request = true, .reply = true};
  }

  static constexpr std::uint64_t kCircle = 1'000'000;
  static constexpr std::int64_t kHalf = kCircle / 2, kSight = kCircle * 3 / 10;
};

class Split final : public Fault {
 public:
  explicit Split(const FaultConfig& config)
      : form_(form_of(text_of(config, "shape", "halves"))),
        reset_(text_of(config, "heal_by", "resume") == "reset") {}

  Healing act(FaultTargets& targets) override {
    Places places{.form = form_, .rng = targets.rng.child("places").unnamed(), .bridge = {}};
    if (const auto& nodes = targets.cluster.nodes(); form_ == Form::bridge && !nodes.empty()) {
      Rng which = targets.rng.child("bridge");
      places.bridge = nodes[static_cast<std::size_t>(which.between(0, nodes.size() - 1))]->name();
    }
    const LaneFilter lanes = [places](const Link& link) { return places.lost(link); };
    const RuleId rule = targets.proxy.add_rule(make_partition_rule(lanes));
    return [rule, lanes, reset = reset_](FaultTargets& later) {
      if (reset) later.proxy.reset_links([&lanes](const Link& link) { return lanes(link).any(); });
      later.proxy.heal_rule(rule);
    };
  }

 private:
  const Form form_;
  const bool reset_;
};

}  // namespace

FaultKind split_fault() {
  FaultKind kind{.name = "split",
                 .about = "everybody falls apart: halves, one way, with a bridge, in a ring"};
  kind.keys = {
      {"shape",
       FaultKey::Type::text,
       false,
       "two sides (halves, the default), of which one does not hear the other (one-way), which one node "
       "sees both of (bridge); or each sees those near to it on a circle (ring)",
       {"halves", "one-way", "bridge", "ring"}},
      {"heal_by",
       FaultKey::Type::text,
       false,
       "what was sent meanwhile arrives (resume, the default) or connections break off (reset)",
       {"resume", "reset"}}};
  kind.on_links = true;
  kind.any_engine = true;
  kind.make = [](const FaultConfig& config) -> std::unique_ptr<Fault> {
    return std::make_unique<Split>(config);
  };
  return kind;
}

}  // namespace holdfast::sim
