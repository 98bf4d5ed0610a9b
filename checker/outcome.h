// Outcome: the answer of one check to one history. `unknown` never counts as a pass.
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::checker {

enum class Outcome : std::uint8_t { holds, violated, unknown };

inline std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::holds: return "holds";
    case Outcome::violated: return "violated";
    case Outcome::unknown: return "unknown";
  }
  return "unknown";
}

}  // namespace holdfast::checker
