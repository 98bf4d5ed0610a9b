// The rule that delays messages as their chains say (sim/world/chains.h).
#pragma once

#include <memory>

#include "sim/proxy/proxy.h"

namespace holdfast::sim {

class Chains;

// A direction of a link is a chain, "link/c1/r1/request". Works on bytes. `chains` outlives the rule.
std::shared_ptr<Rule> make_chain_rule(Chains& chains);

}  // namespace holdfast::sim
