// Expiry arguments, which all become absolute milliseconds of the server's wall clock.
#pragma once

#include "sim/redis/command.h"

namespace holdfast::sim::embedded {

enum class ExpiryUnit : std::uint8_t { none, seconds, milliseconds, at_seconds, at_milliseconds };

// The moment that argument `i` names, or the error of SET and related commands ("invalid expire time in
// 'set' command"), which refuse zero and less.
bool expiry_argument(Call& call, std::size_t i, ExpiryUnit unit, std::int64_t& at_ms);

}  // namespace holdfast::sim::embedded
