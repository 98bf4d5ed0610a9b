// Hold up: what is a race, as one message that comes late.
//
// A renewal that meets a release meets it by chance, on one seed in ten. Held up until the release is done,
// it meets it on all of them, and on real servers, too.
#pragma once

#include "sim/hunt/shrink_candidates.h"
#include "sim/hunt/trial.h"

namespace holdfast::sim {

// For each of the first commands that clients sent in this run: the same case in which it, or its answer,
// stands still on the way, alone (`hold-message`) or with all that goes that way (`stall`), until something
// happens at the lock, or for half a lease, one, and two. Runs the case once.
Candidates held_up(const HuntCase& one);

}  // namespace holdfast::sim
