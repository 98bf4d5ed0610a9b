// Late: what becomes of a case on a machine that is not as punctual as the embedded world.
//
// In the embedded world nothing takes time but what is drawn: a hold of 1 ms is one of 1 ms, and who is to
// wake now wakes now. On a real machine messages and wake-ups come some ms late, beside a load some ten ms,
// and a server takes up to a second to start. So a case that lives on a millisecond shows on every seed here,
// and by chance there. What still shows when all that is late has times that a real machine keeps.
#pragma once

#include "lib/runtime/time.h"
#include "sim/hunt/shrink_candidates.h"

namespace holdfast::sim {

// By how much at most; each time draws its own part of it.
struct Lateness {
  Duration message{};  // on its way, and the start of each client
  Duration wait{};     // holds, pauses between rounds, what faults wait for, and how long they last
  Duration start{};    // of a server that starts again
};
// Beside a load: only messages are late, much of everything is; and a little of everything.
inline constexpr Lateness kLateMachines[] = {
    {.message = std::chrono::milliseconds(15), .wait = {}, .start = std::chrono::milliseconds(300)},
    {.message = std::chrono::milliseconds(15),
     .wait = std::chrono::milliseconds(80),
     .start = std::chrono::seconds(1)},
    {.message = std::chrono::milliseconds(4),
     .wait = std::chrono::milliseconds(20),
     .start = std::chrono::milliseconds(100)}};

// The same case on such a machine.
Value on_late_machine(const Value& document, const Lateness& late);

// One time longer, each a round one from 100 ms to 5 s; the lease longer; then all of them in proportion.
Candidates longer_times(const Value& document);

}  // namespace holdfast::sim
