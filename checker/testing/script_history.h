// Histories for tests, written as readable lines:
//
//   history_of(R"(
//     10    c1/0 invoke acquire k
//     12    c1/0 ok     acquire k id=c1-1 owner=c1:0 node=r1 valid=5010
//     14    nemesis info fault kill value=1 error=crash
//   )")
//
// Time and `valid` in milliseconds (decimals allowed), process, type, function, key (`-`: none), then
// name=value of id, owner, mode, node, error, token, value, permits, valid. `#` begins a comment line.
#pragma once

#include <string_view>

#include "checker/history/history.h"

namespace holdfast::checker::testing {

History history_of(std::string_view script);  // aborts on a line that it cannot read

}  // namespace holdfast::checker::testing
