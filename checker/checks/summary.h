// Summary: how much a pass proves. A history in which nobody ever waited passes every check and proves
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "checker/checks/check.h"
#include "checker/history/history.h"

namespace holdfast::checker {

struct KeySummary {
  std::uint64_t grants = 0;            // outermost grants: holds
  std::uint64_t contended_grants = 0;  // of those: somebody else held the key or asked for it meanwhile
  std::int64_t held_ns = 0;            // over all holds
  std::int64_t claimed_ns = 0;         // over all claims
  std::int64_t longest_wait_ns = 0;    // of a grant, from its invocation
};

struct Summary {
  // By function and outcome ("ok", "fail", "info" or "pending"): how many.
  std::map<std::string, std::map<std::string, std::uint64_t>> operations;
  std::map<std::string, KeySummary> keys;
  KeySummary total;
  std::uint64_t renewals = 0, losses = 0, faults = 0, crashes = 0;
  std::int64_t length_ns = 0;  // from the first event to the last
};

Summary summarize(const History& history, bool reentrant);
// A few lines; keys beyond the tenth are only counted.
std::string to_string(const Summary& summary);

}  // namespace holdfast::checker
