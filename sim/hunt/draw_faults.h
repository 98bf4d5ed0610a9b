// Faults of a hunted case: which kinds, how many, on whom, how long, and when.
//
// A kind is drawn from its own table of keys (FaultKind::keys), so a kind that is added is hunted with at
// once. Of all kinds only some are switched on in each case (swarm testing: Groce, Zhang, Eide, Chen, Regehr,
// ISSTA 2012): what suppresses a failure is missing in some.
#pragma once

#include "sim/hunt/dice.h"
#include "sim/hunt/ground.h"

namespace holdfast::sim {

void draw_faults(const Ground& ground, Value& document, Dice dice);

}  // namespace holdfast::sim
