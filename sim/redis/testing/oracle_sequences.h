// Draws sequences of steps (oracle_case.h) in which time passes: several connections, few keys, every kind of
// value, scripts, transactions, pub/sub.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

namespace holdfast::sim::oracle {

rc::Gen<std::vector<std::string>> any_sequence();

}  // namespace holdfast::sim::oracle
