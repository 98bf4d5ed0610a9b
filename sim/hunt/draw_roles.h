// Stories of changing roles: failovers, splits, restarts and rejoins, one after another while clients hold
// locks. Faults that are drawn one by one seldom make a whole failover (somebody dies, another one is
// promoted, the third one follows it): a lock that bears one is hunted with many.
#pragma once

#include <string>
#include <vector>

#include "sim/hunt/dice.h"
#include "sim/scenario/document.h"

namespace holdfast::sim {

struct RoleStories {
  std::vector<std::string> nodes;  // one alone, or three at least; the first one is the primary
  std::vector<std::string> clients;
  Duration lease{};
  std::uint64_t most = 1;  // stories
};

// `[[fault]]` tables, in their order; ids are f1, f2, ...
std::vector<Value> draw_roles(const RoleStories& of, Dice dice);

}  // namespace holdfast::sim
