// The mark from which on nobody is disturbed any more: what is broken then has to be borne.
#pragma once

#include <string_view>

namespace holdfast::checker {

inline constexpr std::string_view kLiveness = "liveness";

}  // namespace holdfast::checker
