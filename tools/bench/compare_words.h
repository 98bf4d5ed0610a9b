// What a compared row says, in words.
#pragma once

#include <string>

#include "tools/bench/compare.h"

namespace holdfast::tools {

inline constexpr const char* kNoDifference = "no difference that can be seen";

// "slower by 4 to 9%", "less by 0.2 to 0.4 units", "more often by 20 to 61 points"; and who is worse off.
// REQUIRES: row.scale; its interval does not have what would be no difference.
void say_difference(ComparedRow& row);
// "no difference that can be seen (3.1% slower to 2.4% faster)"
void say_none(ComparedRow& row);

// "reentrant, real/fibers, clients 50, connections shared"; with the suite before it, if that is asked for.
std::string row_name(const std::string& suite, const std::string& subject, const std::string& world,
                     const Parameters& parameters);
std::string row_name(const ComparedRow& row);  // without the suite

}  // namespace holdfast::tools
