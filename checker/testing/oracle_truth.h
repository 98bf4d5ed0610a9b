// The truth about a drawn history, from the definitions of checker/HISTORY.md and
// checker/linearizability/models/README.md, by trying all orders and all pairs.
//
// It reads the drawing itself (oracle_draw.h), never what a reader made of its text, and shares no code with
// readers, joiner, holds, checks, models and engines.
#pragma once

#include <string_view>

#include "checker/testing/oracle_draw.h"

namespace holdfast::checker::oracle {

enum class Truth : std::uint8_t { holds, violated, unknown };
std::string_view to_string(Truth truth);

// How a text tells the drawing.
struct Telling {
  bool jepsen = false;  // the order of events rules, and what failed never happened
  bool times = true;    // false: an event's time is its place
};

// `check`: linearizable (under the drawn model), mutual-exclusion, lease-exclusion, fencing-monotonic,
// told-in-time.
Truth truth_of(std::string_view check, const Drawn& drawn, const Telling& telling);

}  // namespace holdfast::checker::oracle
