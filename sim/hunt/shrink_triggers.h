// Triggers: what happened at the moment at which a fault acted, as what it may wait for in place of a time.
//
// A time is right by chance: on another seed, or on a real server, something else happens then. An event or a
// message is the same in all of them.
#pragma once

#include "sim/hunt/shrink_candidates.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

// For each fault that acts at a time, or again and again, or some time after something: at an event that came
// before its act in this run, with the time between rounded, and without; at the next one; at a command that
// clients sent in this run, before it arrives or before its answer does. A fault that lasts some time lasts
// until an event; one that strikes a client by name, or any, strikes that of the event. Runs the case once.
Candidates event_triggers(const HuntCase& one);
// How many faults act at a time, or again and again.
std::size_t faults_at_times(const Value& document);

}  // namespace holdfast::sim
