// The ledger as the comparison with the servers' keyspaces reads it: by server and key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "checker/history/history.h"
#include "checker/history/joiner.h"
#include "checker/holds/holds.h"

namespace holdfast::checker {

using Place = std::pair<Symbol, Symbol>;  // node and key, or node and acquisition

// What the ledger says of one command at one key.
struct TruthEntry {
  std::size_t forwarded = kNowhere, answered = kNowhere;
  Symbol id = 0;
  Symbol named = 0;   // the record that it writes, where several acquisitions have one (Value of the event)
  Symbol record = 0;  // for the comparison: the id of the record that it is about
  Symbol client = 0;
  Function f = Function::store_grant;
  std::uint32_t permits = 0;
  bool none = false;     // it is known to have had no effect
  bool some = false;     // it is known to have had one
  bool guessed = false;  // the command does not say for whom it was sent
  bool covers(std::size_t position) const { return forwarded < position && position < answered; }
  // It puts a record where there was none, or another one.
  bool writes() const { return f == Function::store_grant || named != 0; }
};

// In order of forwarding.
using TruthLedger = std::map<Place, std::vector<TruthEntry>>;
TruthLedger read_truth_ledger(const History& history);

}  // namespace holdfast::checker
